package script

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// hidden replace a secret.
const hidden = "***"

// credential matches the value of an Authorization header.
var credential = regexp.MustCompile(`(?i)\b(basic|bearer) +[A-Za-z0-9._~+/=-]{6,}`)

// masks are the texts and patterns that are hidden in output.
type masks struct {
	secrets []string // the longest first, because one may be part of another
	short   []*regexp.Regexp
}

// newMasks returns masks for the secrets and their usual encodings.
func newMasks(secrets []string) masks {
	var m masks
	add := func(s string) {
		s = printable(s) // as the lines are when they are masked
		switch {
		case strings.TrimSpace(s) == "" || slices.Contains(m.secrets, s):
		case len(s) < 4: // as a part of words it would hide too much
			m.short = append(m.short, regexp.MustCompile(`(^|\W)`+regexp.QuoteMeta(s)+`($|\W)`))
		default:
			m.secrets = append(m.secrets, s)
		}
	}
	for _, s := range secrets {
		add(base64.StdEncoding.EncodeToString([]byte(s)))
		add(url.QueryEscape(s))
		add(url.PathEscape(s))
		add(strings.ReplaceAll(url.PathEscape(s), "%2F", "/"))
		for _, quoted := range []string{strconv.Quote(s), strconv.QuoteToASCII(s)} { // as in JSON
			add(quoted[1 : len(quoted)-1])
		}
		for l := range strings.FieldsFuncSeq(s, isLineEnd) { // output is masked line by line
			add(l)
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// hide replaces the secrets in a line.
func (m masks) hide(line string) string {
	for _, s := range m.secrets {
		line = strings.ReplaceAll(line, s, hidden)
	}
	for _, s := range m.short {
		line = s.ReplaceAllString(line, "${1}"+hidden+"${2}")
	}
	return credential.ReplaceAllString(line, "$1 "+hidden)
}

// secretsOf finds the secrets in a script's input: members with names of secrets, passwords in URLs, and private keys.
func secretsOf(input any) []string { return redact.New().SecretValues(input) }
