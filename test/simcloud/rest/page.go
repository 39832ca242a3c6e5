package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageOf cuts a list by the marker and limit of the query, the way all services do: items after the marker, at most
// limit of them. more tells whether the limit cut something off. An unknown marker is an error.
func pageOf[T any](items []T, q url.Values, id func(T) string) (page []T, more bool, err error) {
	if m := q.Get("marker"); m != "" {
		i := slices.IndexFunc(items, func(t T) bool { return id(t) == m })
		if i < 0 {
			return nil, false, Errorf(http.StatusBadRequest, "BadRequest", "marker [%s] not found", m)
		}
		items = items[i+1:]
	}
	if l := q.Get("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 0 {
			return nil, false, Errorf(http.StatusBadRequest, "BadRequest", "limit param must be an integer")
		}
		if n > 0 && len(items) > n {
			return items[:n], true, nil
		}
	}
	return items, false, nil
}

// Views are the items of the page that the query asks for, as view shows them. next is the URL of the page after it,
// empty after the last one.
func Views[T any](c *Call, items []T, id func(T) string, view func(T) Obj) (views []Obj, next string, err error) {
	page, more, err := pageOf(items, c.Query, id)
	if err != nil {
		return nil, "", err
	}
	views = make([]Obj, 0, len(page))
	for _, v := range page {
		views = append(views, view(v))
	}
	if more {
		q := c.R.URL.Query()
		q.Set("marker", id(page[len(page)-1]))
		next = c.api.World.BaseURL + c.R.URL.Path + "?" + q.Encode()
	}
	return views, next, nil
}

// List answers with a page of items called name, and with a link to the next page.
func List[T any](c *Call, name string, items []T, id func(T) string, view func(T) Obj) (int, any, error) {
	views, next, err := Views(c, items, id, view)
	if err != nil {
		return 0, nil, err
	}
	out := Obj{name: views}
	if next != "" {
		out[name+"_links"] = []Obj{{"rel": "next", "href": next}}
	}
	return http.StatusOK, out, nil
}

// TagsMatch applies the tag filters of the services (all of tags, any of tagsAny, not all of notTags, none of
// notTagsAny; each a comma separated list, empty for no filter).
func TagsMatch(have []string, tags, tagsAny, notTags, notTagsAny string) bool {
	all := func(want []string) bool {
		return !slices.ContainsFunc(want, func(t string) bool { return !slices.Contains(have, t) })
	}
	anyOf := func(want []string) bool {
		return slices.ContainsFunc(want, func(t string) bool { return slices.Contains(have, t) })
	}
	return (tags == "" || all(strings.Split(tags, ","))) &&
		(tagsAny == "" || anyOf(strings.Split(tagsAny, ","))) &&
		(notTags == "" || !all(strings.Split(notTags, ","))) &&
		(notTagsAny == "" || !anyOf(strings.Split(notTagsAny, ",")))
}

// Bool reads a boolean of a query: 1, true, yes and on in any case are true.
func Bool(s string) bool {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on", "t", "y":
		return true
	}
	return false
}

// OneOf reports whether a query filter that may be repeated lets value pass; an absent filter does.
func OneOf(q url.Values, key, value string) bool {
	want, ok := q[key]
	return !ok || slices.Contains(want, value)
}

// Strings returns a copy that JSON writes as [] rather than null.
func Strings(s []string) []string { return append([]string{}, s...) }

// Map returns a copy that JSON writes as {} rather than null.
func Map[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	return out
}

// OrNil returns nil for the empty string, so that JSON says null.
func OrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
