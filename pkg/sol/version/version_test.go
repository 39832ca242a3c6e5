package version_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want version.Version
		err  error
	}{
		{in: "2.0.0", want: version.Version{Major: 2}},
		{in: "1.30.4", want: version.Version{Major: 1, Minor: 30, Patch: 4}},
		{in: "2.0.0-impl:example.com:product:1", want: version.Version{Major: 2, Impl: "example.com:product:1"}},
		{in: "", err: version.ErrMissing},
		{in: "2", err: version.ErrMalformed},
		{in: "2.0", err: version.ErrMalformed},
		{in: "2.0.0.0", err: version.ErrMalformed},
		{in: "02.0.0", err: version.ErrMalformed},
		{in: "2.00.0", err: version.ErrMalformed},
		{in: "0.1.0", err: version.ErrMalformed},
		{in: "v2.0.0", err: version.ErrMalformed},
		{in: "2.0.x", err: version.ErrMalformed},
		{in: "2.-1.0", err: version.ErrMalformed},
		{in: "2.0.+1", err: version.ErrMalformed},
		{in: "2.0.0 ", err: version.ErrMalformed},
		{in: "2.0.0-", err: version.ErrMalformed},
		{in: "2.0.0-impl:", err: version.ErrMalformed},
		{in: "2.0.0-beta", err: version.ErrMalformed},
		{in: "2.0.0-impl:a b", err: version.ErrMalformed},
		{in: "2.0.0-impl:a\r\nX: y", err: version.ErrMalformed},
		{in: "99999999999999999999.0.0", err: version.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := version.Parse(tt.in)
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.in, got.String())
		})
	}
}

func TestNegotiatePicksTheNamedVersion(t *testing.T) {
	t.Parallel()
	served := []version.Version{version.MustParse("1.3.0"), version.MustParse("2.0.0")}

	got, err := version.Negotiate("2.0.0-impl:vendor:1", served...)
	require.NoError(t, err)
	require.Equal(t, "2.0.0", got.String())

	_, err = version.Negotiate("2.0.1", served...)
	require.ErrorIs(t, err, version.ErrUnsupported)
	require.ErrorContains(t, err, "1.3.0, 2.0.0")

	_, err = version.Negotiate("", served...)
	require.ErrorIs(t, err, version.ErrMissing)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2.0.0", "2.0.0-impl:a:b:1", "1.2", "-", "0.0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, err := version.Parse(in)
		if err != nil {
			return
		}
		again, err := version.Parse(v.String())
		require.NoError(t, err)
		require.Equal(t, v, again)
		require.Equal(t, in, v.String())
	})
}
