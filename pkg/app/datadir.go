package app

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// openDataDir creates the data directory, or takes the rights of other users away from one that exists. Group rights
// stay: an operator has given them.
func openDataDir(path string, log *slog.Logger) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := info.Mode()
	const others = 0o007
	switch {
	case mode.Perm()&others == 0:
		return nil
	case !isDataDir(path):
		return fmt.Errorf("%s can be used by all users of this machine (mode %s), and it holds files that are not of "+
			"gybe; use a directory of its own", path, mode.Perm())
	}
	// Only its owner and root can do this.
	if err := os.Chmod(path, mode&^fs.FileMode(others)); err != nil {
		return fmt.Errorf("%s can be used by all users of this machine (mode %s); its owner must run: chmod o-rwx %s",
			path, mode.Perm(), path)
	}
	log.Warn("the data directory could be used by all users of this machine; their rights were removed",
		"data_dir", path, "mode", mode.Perm().String())
	return nil
}

// isDataDir reports whether a directory is empty or was used by gybe before.
func isDataDir(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	if len(entries) == 0 {
		return true
	}
	for _, name := range []string{"content", "secret.key"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}
