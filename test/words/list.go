package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// list is the content of docs/words.txt.
type list struct {
	rules   map[string][]rule // by their first word
	allowed []string          // texts in which removed words are names, such as a user of the system
}

// rule names one removed word or phrase.
type rule struct {
	words       []string // in lower case
	replacement string
}

// finding is an occurrence of a removed word or phrase.
type finding struct {
	words, replacement string
}

// parseList reads sections [words] and [allowed]; # begins a comment.
func parseList(text string) (*list, error) {
	l := &list{rules: map[string][]rule{}}
	section := ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[allowed]":
			l.allowed = append(l.allowed, line)
		case section == "[words]":
			phrases, replacement, ok := strings.Cut(line, " -> ")
			if !ok {
				return nil, fmt.Errorf("%s:%d: want `word, another form -> replacement`", listFile, n+1)
			}
			for phrase := range strings.SplitSeq(phrases, ",") {
				words := strings.Fields(phrase)
				if len(words) == 0 {
					return nil, fmt.Errorf("%s:%d: empty word", listFile, n+1)
				}
				l.rules[words[0]] = append(l.rules[words[0]], rule{words, strings.TrimSpace(replacement)})
			}
		default:
			return nil, fmt.Errorf("%s:%d: unknown section %q", listFile, n+1, section)
		}
	}
	return l, nil
}

var codeSpan = regexp.MustCompile("`[^`]*`")

// find returns the removed words and phrases in a line. Parts of identifiers count as words; code in a line of Markdown
// does not count.
func (l *list) find(line string, isMarkdown bool) []finding {
	for _, text := range l.allowed {
		line = strings.ReplaceAll(line, text, "")
	}
	if isMarkdown {
		line = codeSpan.ReplaceAllString(line, "")
	}

	tokens := tokenise(line)
	var out []finding
	for i, t := range tokens {
		for _, r := range l.rules[t.word] {
			if matches(tokens[i:], r.words) {
				out = append(out, finding{strings.Join(r.words, " "), r.replacement})
			}
		}
	}
	return out
}

// token is a word in lower case, and whether punctuation separates it from the one before.
type token struct {
	word     string
	separate bool
}

func matches(tokens []token, words []string) bool {
	if len(tokens) < len(words) {
		return false
	}
	for i, w := range words {
		if tokens[i].word != w || (i > 0 && tokens[i].separate) {
			return false
		}
	}
	return true
}

// tokenise splits a line into words. In identifiers a capital starts a word after a small letter and before one:
// "VIMDriver" has two.
func tokenise(line string) []token {
	var out []token
	var word strings.Builder
	separate := false
	end := func() {
		if word.Len() > 0 {
			out = append(out, token{word.String(), separate})
			word.Reset()
			separate = false
		}
	}

	chars := []rune(line)
	at := func(i int) rune {
		if i < 0 || i >= len(chars) {
			return ' '
		}
		return chars[i]
	}
	for i, c := range chars {
		switch {
		case unicode.IsLetter(c):
			previous, next := at(i-1), at(i+1)
			if unicode.IsUpper(c) && (unicode.IsLower(previous) || unicode.IsUpper(previous) && unicode.IsLower(next)) {
				end()
			}
			word.WriteRune(unicode.ToLower(c))
		case c == '\'' && word.Len() > 0:
			word.WriteRune(c)
		default:
			end()
			separate = separate || (c != ' ' && c != '\t' && c != '_' && c != '-')
		}
	}
	end()
	return out
}
