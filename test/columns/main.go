// Command columns reports lines of tracked Go files that are longer than 120 columns. A tab counts as four columns.
//
// A line may be longer if a text in back quotes is on it, or a directive such as nolint: these cannot be broken.
// Indented text in a comment (a diagram, an example) may be longer, too.
package main

import (
	"bytes"
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"
)

const (
	limit = 120
	tab   = 4
)

func main() {
	if err := check(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	names, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--", "*.go").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	found := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			return err
		}
		for _, line := range tooLong(text) {
			fmt.Fprintf(os.Stdout, "%s:%d: longer than %d columns\n", name, line, limit)
			found++
		}
	}
	if found > 0 {
		return fmt.Errorf("%d lines are too long", found)
	}
	return nil
}

// tooLong returns the numbers of the lines of a Go file that are too long.
func tooLong(text []byte) []int {
	var long []int
	n := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		n++
		if columns(line) > limit {
			long = append(long, n)
		}
	}
	if len(long) == 0 {
		return nil
	}
	free := unbreakable(text)
	var out []int
	for _, n := range long {
		if !free[n] {
			out = append(out, n)
		}
	}
	return out
}

func columns(line []byte) int { return utf8.RuneCount(line) + (tab-1)*bytes.Count(line, []byte("\t")) }

// unbreakable returns the lines that may be longer.
func unbreakable(text []byte) map[int]bool {
	free := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, kind, lit := s.Scan()
		if kind == token.EOF {
			return free
		}
		whole := kind == token.STRING && lit[0] == '`' || kind == token.COMMENT && (strings.HasPrefix(lit, "//go:") ||
			strings.HasPrefix(lit, "//nolint") || strings.HasPrefix(lit, "//\t") || strings.HasPrefix(lit, "//  "))
		if !whole {
			continue
		}
		first := fset.Position(pos).Line
		for n := range strings.Count(lit, "\n") + 1 {
			free[first+n] = true
		}
	}
}
