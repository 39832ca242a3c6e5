// Command words reports words in tracked files that this repository does not use, with the usual word for each.
//
// The words are in docs/words.txt. Without arguments it checks all files; with arguments it checks these files and
// directories.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const listFile = "docs/words.txt"

// checkedNames matches the files that people write text in.
var checkedNames = []string{
	"*.go", "*.md", "*.sh", "*.html", "*.yaml", "*.yml", "*.sql", "*.py", "*.txtar", "*.js", "*.css", "*.conf",
	"Makefile", "Dockerfile", "run",
}

func main() {
	if err := check(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(ctx context.Context, only []string) error {
	text, err := os.ReadFile(listFile)
	if err != nil {
		return err
	}
	list, err := parseList(string(text))
	if err != nil {
		return err
	}
	files, err := exec.CommandContext(ctx, "git", append([]string{"ls-files", "-z", "--"}, only...)...).Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}

	found := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		if !isChecked(name) {
			continue
		}
		findings, err := list.checkFile(name)
		if err != nil {
			return err
		}
		for _, f := range findings {
			fmt.Fprintln(os.Stdout, f)
		}
		found += len(findings)
	}

	if found > 0 {
		return fmt.Errorf("%d findings; CONTRIBUTING.md has the rules, %s the words", found, listFile)
	}
	return nil
}

func isChecked(name string) bool {
	if name == listFile {
		return false
	}
	return slices.ContainsFunc(checkedNames, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(name)) // the patterns are constants
		return ok
	})
}

// checkFile returns one line for each removed word in a file: position, word, replacement.
func (l *list) checkFile(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) { // deleted, and not committed yet
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	isMarkdown := path.Ext(name) == ".md"
	var out []string
	for _, f := range l.find(name, false) {
		out = append(out, fmt.Sprintf("%s: %q in the name: use %s", name, f.words, f.replacement))
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		for _, f := range l.find(string(line), isMarkdown) {
			out = append(out, fmt.Sprintf("%s:%d: %q: use %s", name, number, f.words, f.replacement))
		}
	}
	return out, nil
}
