package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// shortestHidden is the length of values that are hidden in texts: a shorter one is a part of usual words.
const shortestHidden = 6

// SecretValues collects the texts that a Redactor would remove from values, so that they can be hidden where they
// appear in output. A text that is visible elsewhere in the values is not secret: a password that is also the user's
// name cannot be hidden.
func (r Redactor) SecretValues(values ...any) []string {
	c := collector{r: r, secret: map[string]bool{}, visible: map[string]bool{}}
	for _, v := range values {
		if raw, ok := v.(json.RawMessage); ok {
			v, _ = decodeNumbers(raw)
		}
		c.collect(v, nil, false)
	}
	var out []string
	for s := range c.secret {
		if !c.visible[s] {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return out
}

type collector struct {
	r               Redactor
	secret, visible map[string]bool
}

func (c *collector) collect(value any, path []string, secret bool) {
	switch v := value.(type) {
	case map[string]sol.VimConnectionInfo:
		for _, conn := range v {
			c.collect(map[string]any(conn.InterfaceInfo), nil, false)
			c.collect(map[string]any(conn.AccessInfo), []string{"accessInfo"}, false)
			c.collect(map[string]any(conn.Extra), []string{"accessInfo"}, false)
		}
	case sol.KeyValuePairs:
		c.collect(map[string]any(v), path, secret)
	case map[string]any:
		allowed := map[string]any(nil)
		if isVimMember(path) {
			allowed = c.r.allowed(v)
		}
		for name, e := range v {
			at := append(slices.Clip(path), name)
			hidden := secret || c.r.names(at)
			if allowed != nil {
				_, shown := allowed[name]
				hidden = hidden || !shown
			} else {
				hidden = hidden || isSecret(v, name, e)
			}
			c.collect(e, at, hidden)
		}
	case []any:
		for _, e := range v {
			c.collect(e, path, secret)
		}
	case json.Number:
		if secret {
			c.secret[v.String()] = true
		}
	case string:
		c.collectText(v, secret)
	}
}

func (c *collector) collectText(text string, secret bool) {
	if !secret && !strings.Contains(text, "PRIVATE KEY-----") {
		c.visible[text] = true
		for _, u := range urlText.FindAllString(text, -1) {
			_, rest, _ := strings.Cut(u, "://")
			if _, password, from := passwordOf(rest); from >= 0 && password != "" {
				c.secret[password] = true
			}
		}
		return
	}
	if text != "" {
		c.secret[text] = true
	}
}

// Hider replaces secret values in texts. The zero value applies Text only.
type Hider struct {
	replacer func() *strings.Replacer
}

// NewHider makes a Hider for values of SecretValues, which are collected for the first text. Those of several lines are
// hidden line by line.
func NewHider(values func() []string) Hider {
	return Hider{sync.OnceValue(func() *strings.Replacer { return newReplacer(values()) })}
}

// newReplacer returns nil when there is nothing to replace.
func newReplacer(values []string) *strings.Replacer {
	var pairs []string
	for _, v := range values {
		lines := strings.Split(v, "\n")
		if len(lines) > 1 {
			lines = append([]string{v}, lines...)
		}
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= shortestHidden {
				pairs = append(pairs, l, hiddenText)
			}
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// Hide returns a text without the values, and without the secrets that its form shows.
func (h Hider) Hide(text string) string {
	if h.replacer != nil && text != "" {
		if r := h.replacer(); r != nil {
			text = r.Replace(text)
		}
	}
	return Text(text)
}
