package simcloud

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacktemplates"
	"github.com/stretchr/testify/require"
)

func decode(b []byte, into any) error { return json.Unmarshal(b, into) }

func TestStackListFilters(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	tmpl := template("heat_template_version: 2015-04-30\nresources: {it: {type: OS::Heat::RandomString}}")
	for name, tags := range map[string][]string{"a": {"gybe", "one"}, "b": {"gybe"}, "c": nil} {
		st, err := stacks.Create(t.Context(), u.heat, stacks.CreateOpts{
			Name: name, TemplateOpts: tmpl, Tags: tags,
		}).Extract()
		require.NoError(t, err)
		waitStack(t, u, st.ID, "CREATE_COMPLETE")
	}
	for want, opts := range map[string]stacks.ListOpts{
		"abc": {SortKey: stacks.SortName, SortDir: stacks.SortAsc}, "a": {Tags: "gybe,one"},
		"ab": {TagsAny: "gybe,one", SortKey: "name"}, "c": {NotTagsAny: "gybe"}, "b": {Name: "b"},
		"": {Status: "FAILED"}, "bc": {SortKey: "name", Marker: "", NotTags: "one"},
	} {
		page, err := stacks.List(u.heat, opts).AllPages(t.Context())
		require.NoError(t, err)
		list, err := stacks.ExtractStacks(page)
		require.NoError(t, err)
		got := ""
		for _, s := range list {
			got += s.Name
		}
		require.Equal(t, want, got, "%+v", opts)
	}
}

func TestLookupRedirects(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	opts := c.AuthOptions()
	opts.Username, opts.Scope = OtherUsername, &gophercloud.AuthScope{ProjectName: OtherProject, DomainName: Domain}
	stranger := loginAs(t, c, opts)
	id := createStack(t, u, "here", "heat_template_version: rocky", nil, nil)
	base := c.URL() + "/orchestration/v1/" + c.ProjectID() + "/stacks/"
	status, header, _ := call(t, "GET", base+"here", u.Token(), "")
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, base+"here/"+id, header.Get("Location"))
	status, header, _ = call(t, "GET", base+"here/resources?nested_depth=2", u.Token(), "")
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, base+"here/"+id+"/resources?nested_depth=2", header.Get("Location"))
	status, _, _ = call(t, "GET", base+"other/"+id, u.Token(), "")
	require.Equal(t, http.StatusNotFound, status, "name and id must belong together")
	status, _, _ = call(t, "GET", c.URL()+"/orchestration/v1/0123/stacks", stranger.Token(), "")
	require.Equal(t, http.StatusForbidden, status, "another project's path")
}

func TestPreviewAndValidateMakeNothing(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	tmpl := template(
		"heat_template_version: 2015-04-30\nparameters: {p: {type: number, default: 3, description: how many}}\n" +
			"resources: {it: {type: OS::Neutron::Net}}",
	)
	st, err := stacks.Preview(t.Context(), u.heat, stacks.PreviewOpts{
		Name: "p", Timeout: 60, TemplateOpts: tmpl,
	}).Extract()
	require.NoError(t, err)
	require.Len(t, st.Resources, 1)
	v, err := stacktemplates.Validate(t.Context(), u.heat, stacktemplates.ValidateOpts{
		Template: string(tmpl.Bin),
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, "Number", v.Parameters["p"].(map[string]any)["Type"])
	require.Empty(t, c.State()["stacks"])
}

func TestEnvironmentNamesTypes(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	var out struct {
		Stack struct{ ID string } `json:"stack"`
	}
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), map[string]any{
		"stack_name": "env",
		"template": "heat_template_version: 2013-05-23\nparameters: {secret: {type: string, hidden: true}}\n" +
			"resources: {w: {type: My::Worker, properties: {image: cirros-0.5.2-x86_64-disk, flavor: m1.tiny}}}",
		"files": map[string]string{"file:///tmp/worker.yaml": workerFile},
		"environment": "parameters: {secret: s3}\nparameter_defaults: {net: net0}\n" +
			"resource_registry: {'My::Worker': 'file:///tmp/worker.yaml'}",
	}, &out, nil)
	require.NoError(t, err)
	st := waitStack(t, u, out.Stack.ID, "CREATE_COMPLETE")
	require.Equal(t, "******", st.Parameters["secret"])
	require.Len(t, c.State()["servers"], 1)
	var env map[string]any
	_, err = u.heat.Get(t.Context(), u.heat.ServiceURL("stacks", "env", st.ID, "environment"), &env, nil)
	require.NoError(t, err)
	require.Equal(t, "net0", env["parameter_defaults"].(map[string]any)["net"])
	var files map[string]string
	_, err = u.heat.Get(t.Context(), u.heat.ServiceURL("stacks", "env", st.ID, "files"), &files, nil)
	require.NoError(t, err)
	require.Equal(t, workerFile, files["file:///tmp/worker.yaml"])
}
