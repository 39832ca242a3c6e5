package csar

import (
	"fmt"
	"net/url"
	"strings"
)

// External is a file on another server that a metadata file lists. It is never read, so its hash is not checked.
type External struct {
	// URL is the address, without user and password.
	URL string
	// Algorithm and Hash are the checksum of the entry, "" without one; Set is its non-MANO artifact set.
	Algorithm, Hash, Set string
	// File is the metadata file, Line the line of the entry.
	File string
	Line int
}

// Error says where the entry is, and what it means.
func (e External) Error() string {
	return fmt.Sprintf(
		"%s: the artifact %s is outside of the package: it is not read, and its hash is not checked",
		place(e.File, e.Line), e.URL,
	)
}

// maxExternal limits the entries that are reported.
const maxExternal = 100

// externalOf recognises an entry for a file on another server. Other URLs, such as those of files of this machine, are
// rejected.
func externalOf(l listedIn) (External, bool) {
	u, err := url.Parse(l.Path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp" {
		return External{}, false
	}
	u.User = nil
	e := External{URL: printable(u.String()), Hash: strings.ToLower(l.Hash), Set: l.Set, File: l.from, Line: l.Line}
	if e.Algorithm = l.Algorithm; e.Hash == "" {
		e.Algorithm = ""
	} else if name, ok := Algorithm(l.Algorithm); ok {
		e.Algorithm = name
	}
	return e, true
}
