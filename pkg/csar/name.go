package csar

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxElement = 255 // bytes of one path element that every file system takes

// cleanName checks a path of an archive or its metadata, and returns it from the package root, without
// leading "./" and trailing slash. The second result is the reason why it is invalid, "" if it is valid.
func cleanName(name string, lim Limits) (clean, problem string) {
	switch {
	case name == "":
		return "", "the path is empty"
	case len(name) > lim.NameBytes:
		return "", fmt.Sprintf("the path has %d bytes, %d are allowed", len(name), lim.NameBytes)
	case !utf8.ValidString(name):
		return "", "the path is not UTF-8"
	case strings.ContainsRune(name, 0):
		return "", "the path contains a NUL character"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", "the path contains a character that cannot be printed"
	case strings.Contains(name, `\`):
		return "", "the path contains a backslash; use / between directories"
	case strings.HasPrefix(name, "/"):
		return "", "the path is absolute"
	case len(name) > 1 && name[1] == ':':
		return "", "the path begins with a drive letter"
	}
	for strings.HasPrefix(name, "./") {
		name = name[2:]
	}
	name = strings.TrimSuffix(name, "/")
	elements := strings.Split(name, "/")
	for _, e := range elements {
		switch {
		case e == "..":
			return "", "the path leads out of the package"
		case e == "" || e == ".":
			return "", "the path has an empty element"
		case len(e) > maxElement:
			return "", fmt.Sprintf("the path has an element of %d bytes, %d are allowed", len(e), maxElement)
		}
	}
	if len(elements)-1 > lim.Depth {
		return "", fmt.Sprintf("the path is %d directories deep, %d are allowed", len(elements)-1, lim.Depth)
	}
	if !filepath.IsLocal(name) {
		return "", "the path leads out of the package"
	}
	return name, ""
}

// printable shortens and escapes a string for an error message.
func printable(name string) string {
	const keep = 200
	if len(name) > keep {
		name = strings.ToValidUTF8(name[:keep], "") + "…"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
