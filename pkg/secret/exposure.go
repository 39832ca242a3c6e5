package secret

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Exposure says that all users of a machine could read a key.
type Exposure struct {
	Key   string    // the id of the key
	Found time.Time // when this was found, and ended
	Mode  string    // of the key file, such as -rw-r--r--
}

// exposed begins the comments of a key file that keep exposures until the key is removed. The rest is the key, the
// time and the mode.
const exposed = "# exposed "

// Exposures lists the keys of the ring that all users of a machine could read at some time.
func (r *Ring) Exposures() []Exposure { return slices.Clone(r.keys.Load().exposed) }

func (e Exposure) line() string {
	return exposed + e.Key + " " + e.Found.UTC().Format(time.RFC3339) + " " + e.Mode
}

// parseExposure reads a comment of a key file; false for any other line.
func parseExposure(line string) (Exposure, bool) {
	rest, ok := strings.CutPrefix(line, exposed)
	f := strings.Fields(rest)
	if !ok || len(f) != 3 {
		return Exposure{}, false
	}
	found, err := time.Parse(time.RFC3339, f[1])
	return Exposure{Key: f[0], Found: found, Mode: f[2]}, err == nil
}

// others are the rights of all users.
const others fs.FileMode = 0o007

// isExposed says whether all users can use a regular file.
func isExposed(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Mode().Perm()&others != 0
}

// closeFile takes the rights of all users away from a regular file. It never touches a device. The file keeps that its
// keys were exposed; marked is its content with this. Both steps can be repeated.
func closeFile(path string, raw []byte) (marked []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	if !isExposed(info) {
		return raw, nil
	}
	mode := info.Mode().Perm().String()
	// In a folder that is not writable the file cannot be replaced. Then the exposure is known until the next start.
	marked = []byte(strings.Join(markExposed(strings.Split(string(raw), "\n"), mode), "\n"))
	_ = rewrite(path, func(lines []string) ([]string, error) { return lines, nil })
	if err := os.Chmod(path, info.Mode()&^others); err != nil {
		return nil, fmt.Errorf("all users of this machine can read the key file %s (mode %s); its owner must run: "+
			"chmod o-rwx %s", path, mode, path)
	}
	return marked, nil
}

// markExposed adds a comment for each key that has none yet.
func markExposed(lines []string, mode string) []string {
	var had, add []string
	for _, l := range lines {
		if e, ok := parseExposure(l); ok {
			had = append(had, e.Key)
		}
	}
	for _, n := range keyLines(lines) {
		if id := idOf(lines[n]); !slices.Contains(had, id) {
			add = append(add, Exposure{id, time.Now(), mode}.line())
		}
	}
	return slices.Concat(lines, add)
}
