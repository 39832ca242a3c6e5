package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page cuts a list by the marker and limit of the query, the way all services do: items after the marker, at most
// limit of them. more tells whether the limit cut something off. An unknown marker is an error.
func Page[T any](items []T, q url.Values, id func(T) string) (page []T, more bool, err error) {
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

// NextURL is the address of the page after the item called marker.
func NextURL(base string, r *http.Request, marker string) string {
	q := r.URL.Query()
	q.Set("marker", marker)
	return base + r.URL.Path + "?" + q.Encode()
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

// OrNil returns nil for the empty string, so that JSON says null.
func OrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
