package cloud

import (
	"encoding/json"
	"fmt"
	"html"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxText bounds what a service's own words may add to an error, in bytes.
const MaxText = 1000

var tag = regexp.MustCompile(`(?s)<[^>]*>`)

// message describes the body of an error answer: the service's own words if it is an error document of OpenStack, else
// its media type and length. Other texts are not quoted: the address comes from a request, and may be that of a server
// that is no VIM and that only this node can reach.
//
//	Keystone  {"error": {"message": …, "code": …, "title": …}}
//	Heat      {"error": {"message": …, "type": …}, "explanation": …, "code": …, "title": …}
//	Nova      {"<fault>": {"message": …, "code": …}}, and so Cinder
//	Neutron   {"NeutronError": {"message": …, "type": …, "detail": …}}
//	Glance    {"message": …, "code": …, "title": …}
//	pecan     {"faultstring": …, "faultcode": …, "debuginfo": …}
func message(body []byte, contentType string) string {
	text := strings.TrimSpace(string(body))
	if text == "" {
		return ""
	}
	if m := words([]byte(text)); m != "" {
		return Tidy(m)
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || len(media) > 80 || !mediaType.MatchString(media) {
		media = "unknown type"
	}
	size := fmt.Sprintf("%d bytes", len(body))
	if len(body) >= maxFailure {
		size = "at least " + size
	}
	return fmt.Sprintf("no OpenStack error document (%s, %s)", media, size)
}

var mediaType = regexp.MustCompile(`^[a-z]+/[a-z0-9.+-]+$`)

// errorMembers are the members that the error documents of OpenStack have.
var errorMembers = map[string]bool{
	"message": true, "code": true, "title": true, "type": true, "detail": true, "details": true, "created": true,
	"explanation": true, "error": true, "traceback": true, "faultstring": true, "faultcode": true, "debuginfo": true,
	"retryAfter": true, "identity": true, "request_id": true,
}

// words returns the message of an error document, "" for any other text.
func words(text []byte) string {
	doc := errorDocument(text)
	if inner, ok := doc["error"]; ok {
		if m := wordsOf(errorDocument(inner)); m != "" {
			return m
		}
	}
	if m := wordsOf(doc); m != "" {
		return m
	}

	var fault map[string]json.RawMessage // {"<fault>": {…}}
	if json.Unmarshal(text, &fault) != nil || len(fault) != 1 {
		return ""
	}
	for _, inner := range fault {
		return wordsOf(errorDocument(inner))
	}
	return ""
}

// errorDocument reads an object that has no other members than error documents have.
func errorDocument(text []byte) map[string]json.RawMessage {
	var doc map[string]json.RawMessage
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	for name := range doc {
		if !errorMembers[name] {
			return nil
		}
	}
	return doc
}

// wordsOf returns the text of an error document.
func wordsOf(doc map[string]json.RawMessage) string {
	for _, name := range []string{"message", "faultstring", "explanation"} {
		var m string
		if json.Unmarshal(doc[name], &m) == nil && m != "" {
			return m
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
