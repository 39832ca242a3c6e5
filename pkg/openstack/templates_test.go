package openstack

import (
	"io/fs"
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func packageWith(top, nested string) fs.FS {
	return fstest.MapFS{
		"BaseHOT/f/top.yaml": {Data: []byte(
			"heat_template_version: 2013-05-23\nparameters: {nfv: {type: json}, ssh_public_key: {type: string}}\n" +
				top,
		)},
		"BaseHOT/f/nested/node.yaml": {
			Data: []byte("heat_template_version: 2013-05-23\nparameters: {own: {type: string}}\n" + nested),
		},
	}
}

const (
	topOne = "resources:\n  VDU1: {type: node.yaml, properties: {flavor: a, net: one}}\n" +
		"  vip_CP: {type: OS::Neutron::Port}\n"
	nodeOne = "resources:\n  VDU1: {type: OS::Nova::Server, properties: {flavor: a, user_data: one, image: i}}\n" +
		"  VDU1_CP1: {type: OS::Neutron::Port}\n"
)

// Mgmt drivers ask for the templates without knowing that they are Heat's.
func TestTemplatesAnswer(t *testing.T) {
	t.Parallel()
	d := New(Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	f := &vnfd.Flavour{ID: "f"}
	answers := func(is, was fs.FS) lcm.Request {
		r := lcm.Request{Flavour: f, Package: is}
		if was != nil {
			r.Previous = &lcm.Revision{Flavour: f, Package: was}
		}
		r.Templates = d.Templates(r)
		return r
	}
	one := packageWith(topOne, nodeOne)
	r := answers(one, nil)
	require.ElementsMatch(t, []string{"VDU1", "vip_CP", "VDU1", "VDU1_CP1"}, r.Resources())
	require.True(t, r.TakesKey())
	const heat = "heat_template_version: 2013-05-23\n"
	nested := answers(fstest.MapFS{
		"BaseHOT/f/top.yaml":         {Data: []byte(heat + "parameters: {nfv: {type: json}}\n" + topOne)},
		"BaseHOT/f/nested/node.yaml": {Data: []byte(heat + "parameters: {ssh_public_key: {type: string}}\n" + nodeOne)},
	}, nil)
	require.False(t, nested.TakesKey(), "only the top template gets parameters")
	require.Empty(t, r.Replaces("VDU1"), "nothing is changed")

	for _, tc := range []struct {
		top, nested string
		want        []string
	}{
		{topOne, nodeOne, nil},
		{
			"resources:\n  VDU1: {type: node.yaml, properties: {flavor: b, net: one}}\n",
			"resources:\n  VDU1: {type: OS::Nova::Server, properties: {flavor: b, name: n, user_data: one, image: " +
				"i}}\n",
			nil,
		},
		{"resources:\n  VDU1: {type: node.yaml, properties: {flavor: a, net: two}}\n", nodeOne, []string{"net"}},
		{
			topOne,
			"resources:\n  VDU1: {type: OS::Nova::Server, properties: {flavor: a, user_data: two, config_drive: " +
				"true}}\n",
			[]string{
				"config_drive", "image", "user_data",
			},
		},
	} {
		require.Equal(t, tc.want, answers(packageWith(tc.top, tc.nested), one).Replaces("VDU1"), tc.top+tc.nested)
	}
	broken := answers(packageWith("resources: []\n", nodeOne), one)
	require.Nil(t, broken.Resources(), "Validate reports templates that cannot be read")
	require.Empty(t, broken.Replaces("VDU1"))
}
