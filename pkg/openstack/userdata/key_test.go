package userdata_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// A template that asks for the instance's key gets it with every stack, or Heat would take the default for it and
// exchange what machines were made from. One that does not would be refused by Heat with a parameter it does not know.
func TestOnlyATemplateThatAsksForTheKeyGetsIt(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAA gybe@x"
	in := input(t)
	in.PublicKey = key
	s, _, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.NotContains(t, s.Parameters(), userdata.ParamPublicKey)

	text, err := in.HOT.Template.Encode()
	require.NoError(t, err)
	declared := "parameters: {ssh_public_key: {type: string}, nfv: {type: json}}\n"
	in.HOT = &hot.Bundle{Path: in.HOT.Path, Files: in.HOT.Files}
	in.HOT.Template, err = hot.Parse("t", []byte(replaceParameters(t, text, declared)))
	require.NoError(t, err)
	for _, k := range []string{key, ""} {
		in.PublicKey = k
		s, _, err = userdata.Assemble(in)
		require.NoError(t, err)
		require.Equal(t, k, s.Parameters()[userdata.ParamPublicKey])
	}
}

// A stack on its way to a package that takes the key has it from the first VNFC on that is made from that package.
func TestTheKeyComesWithTheFirstResourceThatAsksForIt(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAA gybe@x"
	old, next := ends()
	next.Template = replaceParameters(
		t, next.Template, "parameters: {nfv: {type: json}, ssh_public_key: {type: string}}\n",
	)
	next.PublicKey = new(key)
	m, err := userdata.NewMix(old, next)
	require.NoError(t, err)
	for n, resources := range [][]string{nil, {"VDU1-1"}} {
		s, err := m.Stack(resources)
		require.NoError(t, err)
		require.Equal(t, []any{nil, key}[n], s.Parameters()[userdata.ParamPublicKey])
	}
}

var parametersSection = regexp.MustCompile(`(?m)^parameters:.*\n(  .*\n)*`)

// replaceParameters gives a template other parameters.
func replaceParameters(t *testing.T, template, parameters string) string {
	t.Helper()
	require.Regexp(t, parametersSection, template)
	return parametersSection.ReplaceAllString(template, parameters)
}
