package crossbridge

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// unixSocket removes its file when it is closed, if it is still this process's.
type unixSocket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

func (s *unixSocket) Close() error {
	if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.file) {
		_ = os.Remove(s.path)
	}
	return s.UnixListener.Close()
}

// listenUnix creates a socket that only its owner can reach; in a folder with the setgid bit, its group too. A file left behind by a process that has ended is replaced.
func listenUnix(path string) (net.Listener, error) {
	if err := rejectInUse(path); err != nil {
		return nil, err
	}
	// Bound under another name first, so that nobody ever finds it with a wider mode, and a stale file goes in the same step. The name is random, as
	// processes of several containers have the same id, and short, as sockets have little room for their paths.
	temporary := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%08x", rand.Uint32()))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	info, err := place(temporary, path)
	if err != nil {
		_ = os.Remove(temporary)
		return nil, errors.Join(err, listener.Close())
	}
	return &unixSocket{listener, path, info}, nil
}

func place(temporary, path string) (fs.FileInfo, error) {
	mode := fs.FileMode(0o600)
	// The bridge then runs as another user of the folder's group.
	if folder, err := os.Stat(filepath.Dir(temporary)); err == nil && folder.Mode()&fs.ModeSetgid != 0 {
		mode = 0o660
	}
	if err := os.Chmod(temporary, mode); err != nil {
		return nil, err
	}
	info, err := os.Lstat(temporary)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(temporary, path)
}

func rejectInUse(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is a file that is no socket; remove it, or name another path")
	}
	probe, err := net.Dial("unix", path)
	if err == nil {
		_ = probe.Close()
		return errors.New("another process serves there; stop it, or name another path")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot find out whether another process serves there: %w", err)
	}
	return nil
}
