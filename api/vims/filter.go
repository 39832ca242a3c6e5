package vims

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// paramFields is the query parameter that selects members of the answer.
const paramFields = "fields"

// attributes are the members of a VIM that a list can be filtered by, as query parameters.
var attributes = map[string]func(*gybeapi.Vim) string{
	"id":          func(v *gybeapi.Vim) string { return v.ID },
	"name":        func(v *gybeapi.Vim) string { return v.Name },
	"description": func(v *gybeapi.Vim) string { return v.Description },
	"type":        func(v *gybeapi.Vim) string { return v.Type },
	"auth_url":    func(v *gybeapi.Vim) string { return v.AuthURL },
	"is_default":  func(v *gybeapi.Vim) string { return strconv.FormatBool(v.IsDefault) },
	"status":      func(v *gybeapi.Vim) string { return v.Status },
	"tenant_id":   func(v *gybeapi.Vim) string { return v.TenantID },
}

// listParams are the query parameters of a list. All others are refused: a client that believes that it has filtered
// the list, as python-tackerclient does before it deletes a VIM by name, must not get all VIMs.
var listParams = func() []string {
	names := []string{paramFields}
	for name := range attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// matches reports whether a VIM has one of the values of every attribute that the query names.
func matches(r *frame.Request, v *gybeapi.Vim) (bool, error) {
	for name, wanted := range r.QueryValues() {
		attribute, ok := attributes[name]
		if !ok {
			continue // paramFields
		}

		if name == "is_default" {
			wanted = slices.Clone(wanted)
			for i, s := range wanted {
				b, err := strconv.ParseBool(s) // clients write True, too
				if err != nil {
					return false, lcm.Errorf(lcm.CodeInvalid, "is_default=%.40s in the query is not a boolean",
						s).WithHint("use true or false")
				}
				wanted[i] = strconv.FormatBool(b)
			}
		}

		if !slices.Contains(wanted, attribute(v)) {
			return false, nil
		}
	}
	return true, nil
}

// selectFields returns the members of a VIM that the query selects with fields, or all.
func selectFields(r *frame.Request, v gybeapi.Vim) (any, error) {
	names := r.QueryValues()[paramFields]
	if len(names) == 0 {
		return v, nil
	}

	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}

	for name := range all {
		if !slices.Contains(names, name) {
			delete(all, name)
		}
	}
	return all, nil
}
