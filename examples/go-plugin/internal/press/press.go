// Package press is the printing press: a folder of JSON files. This is the cloud; all that is lasting is in it.
package press

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	crossbridge "crossbridge.dev/sdk/go"
)

const (
	lockRetry = 5 * time.Millisecond
	lockFile  = ".lock"
	// Only one works at a time, so that one draft does.
	draftFile = ".draft"
)

// ErrDamaged is a file that cannot be read.
var ErrDamaged = errors.New("the file is damaged")

// Settings of a ProviderConfig.
type Settings struct {
	Folder string `json:"folder" doc:"Where the press is, on the plugin's machine. It must exist."`
}

// Press is a folder that exists.
type Press struct{ folder string }

// MapError is what the errors of the press mean to the bridge.
func MapError(err error) *crossbridge.Failure {
	var path *fs.PathError
	var link *os.LinkError
	var system syscall.Errno
	switch {
	case errors.Is(err, ErrDamaged):
		return crossbridge.Unavailable("%v.", err).WithReason("Damaged").WithEffect(crossbridge.EffectNone)
	case errors.As(err, &path), errors.As(err, &link), errors.As(err, &system):
		// Files change in one step: what failed was not done.
		return crossbridge.Unavailable("The press cannot be reached: %v.", err).WithReason("PressUnavailable").WithEffect(crossbridge.EffectNone)
	}
	return nil
}

// Open finds the press of a config.
func Open(config crossbridge.Config) (*Press, error) {
	settings, err := crossbridge.Settings[Settings](config)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(settings.Folder); err != nil || !info.IsDir() {
		return nil, crossbridge.InvalidConfig("The folder of the settings does not exist on the plugin's machine.").WithReason("NoPress")
	}
	return &Press{settings.Folder}, nil
}

// Identity of the press, for people.
func (p *Press) Identity() string {
	if p == nil {
		return ""
	}
	return p.folder
}

// Change works alone, among all replicas, and begins nothing after the deadline. The lock of a process that has ended is free, and the draft,
// which may hold secrets, is removed.
func (p *Press) Change(ctx context.Context, work func() error) error {
	lock, err := os.OpenFile(filepath.Join(p.folder, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockRetry):
		}
	}
	if err := crossbridge.EnsureTime(ctx); err != nil {
		return err
	}
	if err := os.Remove(p.draft()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return work()
}

// Read fills the record from its file, and reports whether there is one. An observation that fails is an error, never absence.
func (p *Press) Read(kind, name string, record any) (bool, error) {
	text, err := os.ReadFile(p.path(kind, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, p.stands()
	}
	if err != nil {
		return false, err
	}
	if json.Unmarshal(text, record) != nil {
		return false, fmt.Errorf("%s: %w", name, ErrDamaged)
	}
	return true, nil
}

// Names of all records of a kind.
func (p *Press) Names(kind string) ([]string, error) {
	files, err := os.ReadDir(filepath.Dir(p.path(kind, "any")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.stands()
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		if name, isRecord := strings.CutSuffix(file.Name(), ".json"); isRecord {
			names = append(names, name)
		}
	}
	return names, nil
}

// stands distinguishes a press in which something is absent from one that is missing itself.
func (p *Press) stands() error {
	_, err := os.Stat(p.folder)
	return err
}

// Write replaces the record's file in one step, by whoever works in Change.
func (p *Press) Write(ctx context.Context, kind, name string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	path := p.path(kind, name)
	// In an existing press: a deleted one is not created anew.
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, err := os.OpenFile(p.draft(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// None is left once it is renamed.
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// To write may have taken long.
	if err := crossbridge.EnsureTime(ctx); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Remove deletes the record's file, by whoever works in Change.
func (p *Press) Remove(ctx context.Context, kind, name string) error {
	if err := crossbridge.EnsureTime(ctx); err != nil {
		return err
	}
	return os.Remove(p.path(kind, name))
}

func (p *Press) draft() string { return filepath.Join(p.folder, draftFile) }

func (p *Press) path(kind, name string) string { return filepath.Join(p.folder, kind, name+".json") }
