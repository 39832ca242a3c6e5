package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindReportsRemovedWords: in prose, in identifiers and across cases, but not where the word is a name.
func TestFindReportsRemovedWords(t *testing.T) {
	l, err := parseList("[words]\nzapped -> deleted\nran a ground, zorb -> failed\n[allowed]\nnobody:nogroup\n")
	require.NoError(t, err)

	for line, want := range map[string]int{
		"// It is zapped.":                    1,
		"func TestCloudHoldsNoInstanceZorb()": 1,
		"wayZapped = 2":                       1,
		"the phase Ran a  ground":             1,
		"it ran. A ground":                    0,
		"zappedly, unzapped":                  0,
		"chown nobody:nogroup":                0,
	} {
		require.Len(t, l.find(line, false), want, line)
	}
	require.Len(t, l.find("made `zapped`, made zapped", true), 1, "code in Markdown is quoted")
}

func TestListOfThisRepositoryIsValid(t *testing.T) {
	text, err := os.ReadFile("../../" + listFile)
	require.NoError(t, err)
	_, err = parseList(string(text))
	require.NoError(t, err)

	_, err = parseList("[words]\nzorb again\n")
	require.ErrorContains(t, err, "docs/words.txt:2")
}
