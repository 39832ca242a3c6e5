package tackerapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// maxPages bounds the pages of one list.
const maxPages = 200

// operation is what has to be known of an operation occurrence to choose it.
type operation struct {
	ID         string `json:"id"`
	InstanceID string `json:"vnfInstanceId"`
	Operation  string `json:"operation"`
	Start      string `json:"startTime"`
}

// operations reads the operation occurrences of an instance, the newest first, at most gybeapi.MaxAdoptionOperations.
// The last INSTANTIATE is always among them: its parameters are those of the instance.
func (c *Client) operations(ctx context.Context, instance string, version int) ([]json.RawMessage, error) {
	root := fmt.Sprintf("/vnflcm/v%d/vnf_lcm_op_occs", version)
	query := url.Values{"filter": {"(eq,vnfInstanceId," + instance + ")"}}
	if version == 1 {
		// Pages of version 1 are in the memory of one of Tacker's processes, and others answer with an empty page.
		query.Set("all_records", "yes")
	}
	found, err := list[operation](ctx, c, root+"?"+query.Encode(), "")
	if isStatus(err, http.StatusNotFound) {
		return []json.RawMessage{}, nil // releases that cannot list them, or an instance without any
	}
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(o operation) bool {
		return o.InstanceID != "" && o.InstanceID != instance
	})
	out := make([]json.RawMessage, 0, len(found))
	for _, o := range newest(found) {
		raw, err := c.operationOccurrence(ctx, root, o)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			out = append(out, raw)
		}
	}
	return out, nil
}

// newest sorts operations by their start, the newest first, and bounds them.
func newest(all []operation) []operation {
	slices.SortStableFunc(all, func(a, b operation) int { return cmp.Compare(instant(b.Start), instant(a.Start)) })
	if len(all) <= gybeapi.MaxAdoptionOperations {
		return all
	}
	kept, rest := all[:gybeapi.MaxAdoptionOperations], all[gybeapi.MaxAdoptionOperations:]
	isFirst := func(o operation) bool { return strings.HasPrefix(o.Operation, "INSTANTIAT") }
	if i := slices.IndexFunc(rest, isFirst); i >= 0 && !slices.ContainsFunc(kept, isFirst) {
		kept[len(kept)-1] = rest[i]
	}
	return kept
}

// instant is a time of Tacker in a form that can be compared: version 1 writes no zone, or +00:00, all are UTC.
func instant(text string) string {
	text = strings.Replace(text, " ", "T", 1)
	return strings.TrimSuffix(strings.TrimSuffix(text, "Z"), "+00:00")
}

// operationOccurrence reads one operation occurrence with all attributes: lists of version 2 leave operationParams out,
// and a list with everything can be too long for Tacker. It returns nil if the occurrence is gone.
func (c *Client) operationOccurrence(ctx context.Context, root string, o operation) (json.RawMessage, error) {
	path := root + "/" + url.PathEscape(o.ID)
	var members map[string]json.RawMessage
	_, err := c.get(ctx, path, &members)
	switch {
	case isStatus(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	// Version 1 shows the parameters as a string with JSON.
	var text string
	if p := members["operationParams"]; len(p) > 0 && p[0] == '"' && json.Unmarshal(p, &text) == nil {
		if text == "" {
			text = "null"
		}
		if json.Valid([]byte(text)) {
			members["operationParams"] = json.RawMessage(text)
		}
	}
	return json.Marshal(members)
}

// list reads all pages of a list. envelope is the member that holds the list where Tacker does not answer with the list
// itself.
func list[T any](ctx context.Context, c *Client, path, envelope string) ([]T, error) {
	root, _, _ := strings.Cut(path, "?")
	var out []T
	seen := map[string]bool{}
	for range maxPages {
		seen[path] = true
		var raw json.RawMessage
		header, err := c.get(ctx, path, &raw)
		if err != nil {
			return nil, err
		}
		page, err := pageOf[T](raw, envelope)
		if err != nil {
			return nil, c.unusable(path, "the response is not a list: "+jsonError(err))
		}
		out = append(out, page...)
		query, ok := nextPage(header)
		if !ok {
			return out, nil
		}
		// The link has the address by which Tacker knows itself, and this one may be another.
		path = root + "?" + query
		if seen[path] {
			return nil, c.unusable(path, "the page names itself or an earlier one as the next")
		}
	}
	return nil, c.unusable(root, fmt.Sprintf("the list has more than %d pages", maxPages))
}

// pageOf decodes one page.
func pageOf[T any](raw json.RawMessage, envelope string) ([]T, error) {
	raw = bytes.TrimSpace(raw)
	if envelope != "" && len(raw) > 0 && raw[0] == '{' {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		raw = members[envelope]
		if raw == nil {
			return nil, &json.UnmarshalTypeError{Value: "object"}
		}
	}
	var page []T
	err := json.Unmarshal(raw, &page)
	return page, err
}

// nextPage is the query of the next page (SOL013 clause 5.4.2.3).
func nextPage(h http.Header) (string, bool) {
	for _, value := range h.Values("Link") {
		target, params, ok := strings.Cut(value, ">")
		if !ok || !strings.Contains(params, `rel="next"`) && !strings.Contains(params, "rel=next") {
			continue
		}
		u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
		if err == nil && u.RawQuery != "" {
			return u.RawQuery, true
		}
	}
	return "", false
}
