package cloud

import (
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText bounds what a service's own words may add to an error, in bytes.
const MaxText = 1000

var (
	title     = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	invisible = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	tag       = regexp.MustCompile(`(?s)<[^>]*>`)
)

// message finds a service's own words in the body of an error answer:
//
//	Keystone, Heat  {"error": {"message": …}}, Heat with "explanation" beside it
//	Nova, Cinder    {"<fault>": {"message": …, "code": …}}
//	Neutron         {"NeutronError": {"type": …, "message": …, "detail": …}}
//	Glance, pecan   {"message": …} or {"faultstring": …}
//	proxies         HTML
func message(body []byte, contentType string) string {
	text := strings.TrimSpace(string(body))
	if text == "" {
		return ""
	}
	var doc any
	if json.Unmarshal([]byte(text), &doc) == nil {
		if m := words(doc); m != "" {
			return Tidy(m)
		}
	}
	if strings.Contains(contentType, "html") || strings.HasPrefix(text, "<") {
		body := Tidy(invisible.ReplaceAllString(text, " "))
		if m := title.FindStringSubmatch(text); m != nil && !strings.HasPrefix(body, Tidy(m[1])) {
			body = Clip(strings.TrimSuffix(Tidy(m[1])+": "+body, ": "), MaxText)
		}
		return body
	}
	return Tidy(text)
}

// words searches an error document for its message.
func words(doc any) string {
	switch v := doc.(type) {
	case string:
		return v
	case map[string]any:
		inner, _ := v["error"].(map[string]any)
		for _, m := range []any{
			inner["message"], v["message"], v["faultstring"], v["explanation"], v["error"], v["detail"],
		} {
			if s, ok := m.(string); ok && s != "" {
				return s
			}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if m, ok := v[k].(map[string]any); ok {
				if s := words(m); s != "" {
					return s
				}
			}
		}
	case []any:
		for _, e := range v {
			if s := words(e); s != "" {
				return s
			}
		}
	}
	return ""
}

// Tidy takes markup and runs of white space out of a text and bounds it.
func Tidy(s string) string {
	s = html.UnescapeString(tag.ReplaceAllString(s, " "))
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	return Clip(s, MaxText)
}

// Clip cuts a text at n bytes without breaking a character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

var quotaText = regexp.MustCompile(`(?i)quota|over (the )?limit|overlimit|limit ?exceeded|maximum (number of )?(stacks|volumes|snapshots)`)
