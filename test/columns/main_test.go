package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 120)
	for name, tt := range map[string]struct {
		text string
		want []int
	}{
		"code":                   {"package a\n\nvar a = \"" + long + "\"\n", []int{3}},
		"a tab is four columns":  {"package a\n\n\t//" + long[:115] + "\n", []int{3}},
		"exactly 120 columns":    {"package a\n\n\t//" + long[:114] + "\n", nil},
		"letters, not bytes":     {"package a\n\n//" + strings.Repeat("é", 118) + "\n", nil},
		"a comment":              {"package a\n\n// " + long + "\n", []int{3}},
		"a diagram":              {"package a\n\n//\t" + long + "\n", nil},
		"a text in back quotes":  {"package a\n\nvar a = `" + long + "\n" + long + long + "`\n", nil},
		"after a text that ends": {"package a\n\nvar a = `\n`\n// " + long + "\n", []int{5}},
		"a directive":            {"package a\n\nvar a = 1 //nolint:x // " + long + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tooLong([]byte(tt.text)))
		})
	}
}
