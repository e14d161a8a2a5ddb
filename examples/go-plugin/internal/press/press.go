// Package press is the printing press: a folder of JSON files. This is the cloud; all that is lasting is in it.
package press

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.org/press/internal/call"
	pb "example.org/press/internal/contract"
)

const (
	lockRetry = 5 * time.Millisecond
	lockFile  = ".lock"
	// Only one works at a time, so that one draft does.
	draftFile = ".draft"
)

// Press is a folder that exists.
type Press struct{ folder string }

// Open finds the press of a config.
func Open(config *pb.ConfigContext) (*Press, error) {
	var settings struct {
		Folder string `json:"folder"`
	}
	if config.GetSettings() != nil {
		if err := call.Object(config.GetSettings(), "config.settings"); err != nil {
			return nil, err
		}
		// A folder of another type than text is as good as none.
		_ = json.Unmarshal([]byte(config.GetSettings().GetJson()), &settings)
	}
	if info, err := os.Stat(settings.Folder); err != nil || !info.IsDir() {
		return nil, call.Fail(pb.FailureCode_FAILURE_CODE_INVALID_CONFIG, "NoPress",
			"The folder of the settings does not exist on the plugin's machine.")
	}
	if expiry := config.GetCredentialsExpireTime(); expiry != nil && !expiry.AsTime().After(time.Now()) {
		return nil, call.Fail(pb.FailureCode_FAILURE_CODE_CREDENTIALS_EXPIRED, "Expired", "The credentials have expired.")
	}
	return &Press{settings.Folder}, nil
}

// Identity of the press, for people.
func (p *Press) Identity() string { return p.folder }

// Change works alone, among all replicas, and begins nothing after the deadline. The lock of a process that has ended is free, and the draft,
// which may hold secrets, is removed.
func (p *Press) Change(ctx context.Context, work func() error) error {
	lock, err := os.OpenFile(filepath.Join(p.folder, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return unavailable(err)
	}
	defer lock.Close()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unavailable(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockRetry):
			continue
		}
		break
	}
	if err := call.EnsureTime(ctx); err != nil {
		return err
	}
	if err := os.Remove(p.draft()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
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
		return false, unavailable(err)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return false, call.Fail(pb.FailureCode_FAILURE_CODE_UNAVAILABLE, "Damaged", "The file of %s is damaged.", name)
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
		return nil, unavailable(err)
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
	if _, err := os.Stat(p.folder); err != nil {
		return unavailable(err)
	}
	return nil
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
		return unavailable(err)
	}
	file, err := os.OpenFile(p.draft(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unavailable(err)
	}
	// None is left once it is renamed.
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return unavailable(err)
	}
	// To write may have taken long.
	if err := call.EnsureTime(ctx); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return unavailable(err)
	}
	return nil
}

// Remove deletes the record's file, by whoever works in Change.
func (p *Press) Remove(ctx context.Context, kind, name string) error {
	if err := call.EnsureTime(ctx); err != nil {
		return err
	}
	if err := os.Remove(p.path(kind, name)); err != nil {
		return unavailable(err)
	}
	return nil
}

func (p *Press) draft() string { return filepath.Join(p.folder, draftFile) }

func (p *Press) path(kind, name string) string { return filepath.Join(p.folder, kind, name+".json") }

func unavailable(err error) error {
	return call.Fail(pb.FailureCode_FAILURE_CODE_UNAVAILABLE, "PressUnavailable", "The press cannot be reached: %v.", err)
}
