package redact

import (
	"regexp"
	"strings"
)

// hiddenText stands for a secret within a text.
const hiddenText = "***"

var (
	// urlScheme is the beginning of a URL.
	urlScheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	// urlText is a URL, with everything up to a space or quote.
	urlText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]*`)
	// assignment is name=value, as in a DSN, a query or an environment.
	assignment = regexp.MustCompile(`([A-Za-z_][\w.-]*)(\s*=\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&"']+)`)
	// member is "name": "value", as in JSON or YAML.
	member = regexp.MustCompile(`(["']?)([A-Za-z_][\w.-]*)(["']?\s*:\s+|["']\s*:\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&"'{}\[\]]+)`)
	// option is an option of a command with its value.
	option = regexp.MustCompile(`(--?(?:[a-z]+-)*(?:password|passwd|passphrase|token|secret)\s+)("[^"]*"|'[^']*'|[^\s"']+)`)
	// scheme is the value of an Authorization header.
	scheme = regexp.MustCompile(`(?i)\b(basic|bearer)(\s+)([A-Za-z0-9._~+/-]{6,}=*)`)
	// authHeader is such a header with its name.
	authHeader = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:basic|bearer|digest|token)?\s*)([^\s"',;]+)`)
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	jsonToken  = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?`)
)

// Text hides the secrets in a text that its form shows: the passwords of URLs, password=… and other assignments to
// names of secrets, values of Authorization headers, JSON web tokens, and private keys.
func Text(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = privateKey.ReplaceAllString(s, hiddenText)
	}
	if strings.Contains(s, "://") {
		s = urlText.ReplaceAllStringFunc(s, maskURLs)
	}
	if strings.Contains(s, "=") {
		s = assignment.ReplaceAllStringFunc(s, maskAssignment)
	}
	if strings.Contains(s, ":") {
		s = maskMembers(s)
	}
	if strings.Contains(s, "eyJ") {
		s = jsonToken.ReplaceAllString(s, hiddenText)
	}
	if !strings.Contains(s, " ") && !strings.ContainsAny(s, ":=\t\n") {
		return s
	}
	s = authHeader.ReplaceAllString(s, "${1}"+hiddenText)
	s = option.ReplaceAllString(s, "${1}"+hiddenText)
	return scheme.ReplaceAllStringFunc(s, func(text string) string {
		part := scheme.FindStringSubmatch(text)
		if !isRandom(part[3]) {
			return text // "basic configuration"
		}
		return part[1] + part[2] + hiddenText
	})
}

// isRandom tells a token from an English word.
func isRandom(s string) bool {
	return strings.ContainsAny(s, "0123456789=_~+/") || strings.ToLower(s[1:]) != s[1:] || len(s) > 24
}

func maskAssignment(text string) string {
	part := assignment.FindStringSubmatch(text)
	if kind := secretKind(part[1]); kind == plainName || kind == keyName || isSwitch(part[3]) {
		return text
	}
	return part[1] + part[2] + hiddenText
}

// maskMembers hides values after a colon. Without quotes, names that are also usual words ("token: expired") do not
// count.
func maskMembers(s string) string {
	return member.ReplaceAllStringFunc(s, func(text string) string {
		part := member.FindStringSubmatch(text)
		quoted := part[1] != "" && strings.ContainsAny(part[4][:1], `"'`)
		words := wordsOf(part[2])
		if secretKind(part[2]) != secretName || isSwitch(part[4]) ||
			!quoted && len(words) == 1 && !strings.Contains(words[0], "pass") && !strings.Contains(words[0], "pw") {
			return text
		}
		return part[1] + part[2] + part[3] + hiddenText
	})
}

// isSwitch reports whether a value cannot be a secret.
func isSwitch(value string) bool {
	switch strings.ToLower(strings.Trim(value, `"'`)) {
	case "", "true", "false", "null", "none", hiddenText:
		return true
	}
	return false
}

// maskURLs hides the passwords of a URL, and of others that follow it without a space.
func maskURLs(text string) string {
	at := urlScheme.FindAllStringIndex(text, -1)
	var out strings.Builder
	out.WriteString(text[:at[0][0]])
	for n, place := range at {
		end := len(text)
		if n+1 < len(at) {
			end = at[n+1][0]
		}
		out.WriteString(maskURL(text[place[0]:end]))
	}
	return out.String()
}

// maskURL drops the password of a URL such as http://user:pw@proxy:3128.
func maskURL(s string) string {
	schemeName, rest, _ := strings.Cut(s, "://")
	user, _, from := passwordOf(rest)
	if from < 0 {
		return s
	}
	return schemeName + "://" + user + rest[from:]
}

// passwordOf returns user and password of a URL without its scheme, and where the rest begins; -1 without a password.
// url.Parse would fail for a password with invalid characters.
func passwordOf(rest string) (user, password string, from int) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		// The slash may be part of a password, unless the text before it is host:port.
		_, port, hasPort := strings.Cut(rest[:end], ":")
		if at = strings.LastIndexByte(rest, '@'); at < 0 || !hasPort || strings.Trim(port, "0123456789") == "" {
			return "", "", -1
		}
	}
	user, password, ok := strings.Cut(rest[:at], ":")
	if !ok {
		return "", "", -1
	}
	return user, password, at
}
