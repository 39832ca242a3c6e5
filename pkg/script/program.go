package script

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxFirstLine limits the first line of a script that names its interpreter, in bytes.
const maxFirstLine = 4096

// IsProgram says whether a file of a package is started as a program: it begins with #! or is an executable ELF file,
// and its name does not end in .py. Files with that name are Python scripts in the form of Tacker.
func IsProgram(pkg fs.FS, name string) bool {
	begin, err := beginning(pkg, name)
	return err == nil && path.Ext(name) != ".py" && (isScript(begin) || isELF(begin))
}

func isScript(begin []byte) bool { return bytes.HasPrefix(begin, []byte("#!")) }
func isELF(begin []byte) bool    { return bytes.HasPrefix(begin, []byte(elf.ELFMAG)) }

// beginning reads the first line of a file, or a part of it.
func beginning(pkg fs.FS, name string) ([]byte, error) {
	f, err := pkg.Open(Local(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	begin := make([]byte, maxFirstLine)
	n, err := io.ReadFull(f, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	line, _, _ := bytes.Cut(begin[:n], []byte("\n"))
	return line, err
}

// CanRun says with a CodeUnprocessable error why a file of a package cannot be run as a program on this node: it is
// neither a script with an interpreter in its first line nor an executable file, or scripts do not see its interpreter.
func (r *Runner) CanRun(pkg fs.FS, name string) error {
	refuse := func(format string, args ...any) error {
		return lcm.Errorf(lcm.CodeUnprocessable, "the script %s cannot be run: %s", name, fmt.Sprintf(format, args...))
	}
	begin, err := beginning(pkg, name)
	if err != nil {
		return refuse("the package does not have it")
	}
	switch {
	case isELF(begin):
		if info, err := fs.Stat(pkg, Local(name)); err != nil || info.Mode()&0o111 == 0 {
			return refuse("it is a program that is not marked as executable in the package")
		}
		return nil
	case !isScript(begin):
		return refuse("its first line does not name an interpreter (#!), and it is no program")
	}
	words := strings.Fields(string(begin[2:]))
	if len(words) == 0 || !path.IsAbs(words[0]) {
		return refuse("its first line does not name the path of an interpreter")
	}
	missing := func(what string) error {
		e := refuse("its first line names the interpreter %s, which scripts do not find on this node", what)
		return lcm.AsError(e).
			WithHint("have the operator install it below /usr on every node, or use another interpreter")
	}
	if !r.sees(words[0]) {
		return missing(words[0])
	}
	if path.Base(words[0]) != "env" {
		return nil
	}
	args := slices.DeleteFunc(words[1:], func(a string) bool { return strings.HasPrefix(a, "-") })
	args = slices.DeleteFunc(args, func(a string) bool { return strings.Contains(a, "=") })
	if len(args) > 0 && !slices.ContainsFunc(strings.Split(r.python.searchPath(), ":"), func(dir string) bool {
		return r.sees(path.Join(dir, args[0]))
	}) {
		return missing(args[0])
	}
	return nil
}

// systemDirs are the directories with programs that scripts see in the sandbox.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"}

// sees says whether scripts find an executable file at a path of this node.
func (r *Runner) sees(program string) bool {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return false
	}
	if r.opts.Sandbox != Bwrap {
		return true
	}
	return slices.ContainsFunc(slices.Concat(systemDirs, r.python.dirs), func(dir string) bool {
		rel, err := filepath.Rel(dir, program)
		return err == nil && filepath.IsLocal(rel)
	})
}
