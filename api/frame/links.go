package frame

import (
	"encoding/json"
	"strings"
)

// The places of URLs in a LinkTemplate.
const (
	// SelfPlace is the place of the URL of the resource.
	SelfPlace = "{self}"
	// ParentPlace is the place of the URL of the resource that it belongs to.
	ParentPlace = "{parent}"
)

// LinkTemplate is the JSON of links, cut at the places of the URLs: those of the parent divide it into elements, those
// of the resource itself divide the elements.
type LinkTemplate [][]string

// NewLinkTemplate makes the template of links that have places instead of URLs.
func NewLinkTemplate(links any) LinkTemplate {
	raw, err := json.Marshal(links)
	if err != nil {
		return LinkTemplate{{"{}"}} // texts always encode
	}
	var out LinkTemplate
	for part := range strings.SplitSeq(string(raw), ParentPlace) {
		out = append(out, strings.Split(part, SelfPlace))
	}
	return out
}

// For returns the links of one resource.
func (t LinkTemplate) For(self, parent URL) Links {
	return Links{template: t, self: self, parent: parent}
}

// Collection is the URL of a list of resources, as the content of a JSON string.
type Collection string

// NewCollection makes the Collection of a URL.
func NewCollection(url string) Collection { return Collection(escape(url + "/")) }

// Of returns the URL of one of its resources. Ids are UUIDs, so JSON needs no escapes for them.
func (c Collection) Of(id string) URL { return URL{c, id} }

// URL is the URL of a resource. Its parts stay apart, so that a list does not make a text for each resource.
type URL struct {
	of Collection
	id string
}

func (u URL) size() int { return len(u.of) + len(u.id) }

func (u URL) appendTo(buf []byte) []byte { return append(append(buf, u.of...), u.id...) }

// Links are the links of a resource, not yet as JSON. The zero Links are none.
type Links struct {
	template     LinkTemplate
	self, parent URL
}

func (l Links) none() bool { return l.template == nil }

// JSON returns the links of a resource that is part of another one.
func (l Links) JSON() []byte { return l.appendTo(make([]byte, 0, l.size())) }

// size is the length of what appendTo adds.
func (l Links) size() (n int) {
	for m, part := range l.template {
		if m > 0 {
			n += l.parent.size()
		}
		for _, text := range part {
			n += len(text)
		}
		n += (len(part) - 1) * l.self.size()
	}
	return n
}

// appendTo adds the JSON to buf.
func (l Links) appendTo(buf []byte) []byte {
	for n, part := range l.template {
		if n > 0 {
			buf = l.parent.appendTo(buf)
		}
		for m, text := range part {
			if m > 0 {
				buf = l.self.appendTo(buf)
			}
			buf = append(buf, text...)
		}
	}
	return buf
}

// escape makes a URL the content of a JSON string. Most need nothing.
func escape(url string) string {
	for n := range len(url) {
		switch c := url[n]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			raw, err := json.Marshal(url)
			if err != nil {
				return url // texts always encode
			}
			return string(raw[1 : len(raw)-1])
		}
	}
	return url
}
