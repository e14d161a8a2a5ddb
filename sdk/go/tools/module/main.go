// Command module packs the SDK as a tag sdk/go/VERSION publishes it: `go run ./module VERSION FOLDER`, in this folder. FOLDER/proxy then serves it
// as a module proxy does, and FOLDER/module is what an author's build sees of it.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	sdk    = ".."
	pathOf = "crossbridge.dev/sdk/go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: module VERSION FOLDER")
	}
	if err := pack(module.Version{Path: pathOf, Version: os.Args[1]}, os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func pack(version module.Version, folder string) error {
	if err := module.Check(version.Path, version.Version); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	proxy := filepath.Join(folder, "proxy", pathOf, "@v")
	if err := os.MkdirAll(proxy, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version.Version})
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		return err
	}
	base := filepath.Join(proxy, version.Version)
	err = errors.Join(
		os.WriteFile(filepath.Join(proxy, "list"), []byte(version.Version+"\n"), 0o644),
		os.WriteFile(base+".info", info, 0o644),
		os.WriteFile(base+".mod", manifest, 0o644),
	)
	if err != nil {
		return err
	}
	archive, err := os.Create(base + ".zip")
	if err != nil {
		return err
	}
	if err := errors.Join(zip.CreateFromDir(archive, version, sdk), archive.Close()); err != nil {
		return err
	}
	return zip.Unzip(filepath.Join(folder, "module"), version, archive.Name())
}
