package tackerapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
)

// clusterVIM begins the name of the VIM that Tacker's mgmt driver registers for the Kubernetes cluster of an instance;
// the id of the instance follows. The parameter vim_name of the cluster replaces the whole name.
const clusterVIM = "kubernetes_vim_"

// vims reads the registered VIMs of an instance: those that its connections name, and that of its cluster.
func (c *Client) vims(ctx context.Context, in *Instance) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	var had []string
	add := func(raw json.RawMessage) error {
		var vim struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &vim); err != nil {
			return c.unusable("/v1.0/vims", "the response has a VIM that is not one: "+jsonError(err))
		}
		if !slices.Contains(had, vim.ID) {
			had = append(had, vim.ID)
			out = append(out, raw)
		}
		return nil
	}
	for _, connection := range in.Connections {
		if connection.VimID == "" || slices.Contains(had, connection.VimID) {
			continue
		}
		var doc struct {
			VIM json.RawMessage `json:"vim"`
		}
		path := "/v1.0/vims/" + url.PathEscape(connection.VimID)
		_, err := c.get(ctx, path, &doc)
		if isStatus(err, http.StatusNotFound) {
			continue // deleted since; an instance can also have been given an id that was never registered
		}
		if err == nil && doc.VIM == nil {
			err = c.unusable(path, "the response is not a VIM")
		}
		if err == nil {
			err = add(doc.VIM)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range clusterNames(in) {
		found, err := list[json.RawMessage](ctx, c, "/v1.0/vims?"+url.Values{"name": {name}}.Encode(), "vims")
		if isStatus(err, http.StatusNotFound) { // without the legacy API
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for _, raw := range found {
			var vim struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(raw, &vim) != nil || vim.Name != name {
				continue
			}
			if err := add(raw); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// clusterNames are the names that the VIM of the instance's cluster can have.
func clusterNames(in *Instance) []string {
	names := []string{clusterVIM + in.ID}
	documents := append([]json.RawMessage{in.Request.VnfInstance}, in.Request.Operations...)
	for _, raw := range documents {
		type parameters struct {
			Cluster struct {
				Name string `json:"vim_name"`
			} `json:"k8s_cluster_installation_param"`
			// Version 1 shows parameters in camel case.
			Camel struct {
				Name string `json:"vimName"`
			} `json:"k8sClusterInstallationParam"`
		}
		var doc struct {
			Instantiated struct {
				Params parameters `json:"additionalParams"`
			} `json:"instantiatedVnfInfo"`
			Operation struct {
				Params parameters `json:"additionalParams"`
			} `json:"operationParams"`
		}
		_ = json.Unmarshal(raw, &doc) // a member of another type has no name
		for _, p := range []parameters{doc.Instantiated.Params, doc.Operation.Params} {
			for _, name := range []string{p.Cluster.Name, p.Camel.Name} {
				if name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
