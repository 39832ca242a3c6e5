package coreutils

import "testing"

func FuzzRegex(f *testing.F) {
	for _, p := range []string{
		`a\(b\)*c`, `[[:space:]]*x`, `[]a]`, `[^]]`, `\{2\}`, `a{2}`, `(a|b)+`, `[`, `\`, `*a`, `^*`, `a\|b`, `\<w\>`,
	} {
		f.Add(p, true)
		f.Add(p, false)
	}
	f.Fuzz(func(_ *testing.T, pat string, extended bool) {
		if re, err := compile(pat, extended, false); err == nil {
			re.MatchString("some text")
		}
	})
}

func FuzzSedScript(f *testing.F) {
	for _, p := range []string{`s/a/b/g`, `/x/,$d`, `2,3!p`, `s`, `s/[/]/x/`, `s#a#\1$&#gp;d`} {
		f.Add(p)
	}
	f.Fuzz(func(_ *testing.T, src string) { _, _ = (&sedParser{src: src}).parse() })
}

func FuzzAwkRewrite(f *testing.F) {
	for _, p := range []string{
		`{ print > "f" }`, `{ print $1, $2 >> x "y"; next }`, `{printf("%s", a) > "f"}`,
		`/a/ { print }`, `BEGIN{print 1>2`, "print >\n",
	} {
		f.Add(p)
	}
	f.Fuzz(func(_ *testing.T, src string) { redirectPrints(src) })
}
