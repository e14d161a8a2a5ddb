// Command tools writes the stubs of the contract to ../internal/v1alpha1, and the digest of the files that they come from. Run it there, by
// `go run .`, when a file of proto/ has changed. It needs no protoc: the compiler is a library, the generators are tools of go.mod.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	protos  = "../../../proto"
	folder  = "crossbridge/provider/v1alpha1"
	written = "../internal/v1alpha1"
)

func main() {
	log.SetFlags(0)
	if err := generate(); err != nil {
		log.Fatal(err)
	}
}

func generate() error {
	request, err := compile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(written, 0o755); err != nil {
		return err
	}
	for _, generator := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(generator, request); err != nil {
			return fmt.Errorf("%s: %w", generator, err)
		}
	}
	return writeDigest(request.FileToGenerate)
}

// writeDigest records what the stubs were generated from: a test of the SDK compares it.
func writeDigest(files []string) error {
	sum := sha256.New()
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(protos, file))
		if err != nil {
			return err
		}
		sum.Write(text)
	}
	return os.WriteFile(filepath.Join(written, "digest.txt"), []byte(hex.EncodeToString(sum.Sum(nil))+"\n"), 0o644)
}

// compile reads the contract.
func compile() (*pluginpb.CodeGeneratorRequest, error) {
	paths, err := filepath.Glob(filepath.Join(protos, folder, "*.proto"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no contract in %s: %w", protos, err)
	}
	// All files are of one package, so that its path in the module is never written into a file.
	parameter := "paths=source_relative"
	request := &pluginpb.CodeGeneratorRequest{Parameter: &parameter}
	for _, path := range paths {
		request.FileToGenerate = append(request.FileToGenerate, folder+"/"+filepath.Base(path))
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{protos}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), request.FileToGenerate...)
	if err != nil {
		return nil, err
	}
	// Those that are imported come first.
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		add(file)
	}
	return request, nil
}

func run(generator string, request *pluginpb.CodeGeneratorRequest) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	tool := exec.Command("go", "tool", generator)
	tool.Stdin, tool.Stderr = bytes.NewReader(input), os.Stderr
	output, err := tool.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", *response.Error)
	}
	for _, file := range response.File {
		path := filepath.Join(written, filepath.Base(file.GetName()))
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
