// Package redact removes secrets from values and texts that leave the product.
package redact

import (
	"slices"
	"strings"
	"unicode"
)

// IsSecretName reports whether a JSON member of this name holds a secret, such as password, bearer_token, adminPass,
// snmpCommunity or encryption-key. The name is divided into words at separators and changes of case. Names that
// describe a secret, such as tokenEndpoint, key_name or authType, are not secret, and neither are those of public keys.
func IsSecretName(name string) bool { return secretKind(name) != plainName }

// nameKind says what a name says about the value.
type nameKind int

const (
	plainName nameKind = iota
	// secretName is the name of a secret.
	secretName
	// authName is the name of a secret, or of an object with members of other kinds, such as authentication.
	authName
	// keyName is the single word "key": a secret, but also half of an entry such as {"key": "zone", "value": "a"}.
	keyName
)

// secretParts are parts of names, in lower case and without separators.
var secretParts = []string{
	"password", "passwd", "passphrase", "passcode", "passkey", "secret", "token", "credential", "privatekey", "apikey",
	"accesskey", "clientkey", "certificatekey", "sshkey", "bearer", "kubeconfig", "cookie",
}

// addressWords end names of addresses, whatever is before them.
var addressWords = []string{"endpoint", "url", "uri"}

// describingWords are what a name has that describes a key or an authentication.
var describingWords = []string{
	"name", "names", "id", "ids", "type", "types", "size", "length", "bits", "algorithm", "algorithms", "format",
	"usage",
	"file", "filename", "path", "dir", "alias", "pair", "pairs", "version", "fingerprint", "fingerprints", "policy",
	"rotation", "required", "enabled", "count", "mode", "method", "methods", "protocol", "plugin", "provider", "scheme",
	"server", "servers", "host", "hosts", "port", "domain", "realm", "user", "username", "interface", "timeout", "ref",
	"board", "space", "strategy",
}

// publicWords before "key" name a key that is public or not cryptographic.
var publicWords = []string{
	"public", "pub", "host", "authorized", "topology", "label", "annotation", "sort", "partition", "primary", "foreign",
	"routing", "map", "config", "selector",
}

// plainEndings are words that end like a secret and are none.
var plainEndings = []string{
	"bypass", "compass", "encompass", "trespass", "surpass", "overpass", "underpass", "monkey", "turkey", "hockey",
	"jockey", "whiskey", "hotkey", "pubkey", "publickey", "hostkey",
}

func secretKind(name string) nameKind {
	words := wordsOf(name)
	if len(words) == 0 {
		return plainName
	}
	last := words[len(words)-1]
	for _, a := range addressWords {
		if strings.HasSuffix(last, a) {
			return plainName
		}
	}
	joined := strings.Join(words, "")
	for _, part := range secretParts {
		if strings.Contains(joined, part) && !namesPublicKey(words, part) {
			return secretName
		}
	}
	kind := plainName
	for n := range words {
		switch k := wordKind(words, n); {
		case k == plainName:
		case k == secretName:
			return secretName
		case n == len(words)-1 || !slices.Contains(describingWords, last):
			kind = k
		}
	}
	if kind == keyName && len(words) > 1 {
		return secretName
	}
	return kind
}

// wordKind says what the word at n makes of a name.
func wordKind(words []string, n int) nameKind {
	w := words[n]
	if slices.Contains(plainEndings, w) {
		return plainName
	}
	next := ""
	if n+1 < len(words) {
		next = words[n+1]
	}
	switch {
	case w == "pass" && (next == "through" || next == "thru"):
		return plainName
	case strings.HasSuffix(w, "pass"), strings.HasSuffix(w, "pw"), strings.HasPrefix(w, "pwd"),
		strings.HasSuffix(w, "pwd"), strings.HasSuffix(w, "psk"), w == "jwt", w == "community":
		return secretName
	case isAuthWord(w):
		return authName
	case strings.HasSuffix(w, "key"), strings.HasSuffix(w, "keys"):
		if n > 0 && slices.Contains(publicWords, words[n-1]) ||
			slices.Contains(plainEndings, strings.TrimSuffix(w, "s")) {
			return plainName
		}
		return keyName
	}
	return plainName
}

// isAuthWord reports whether a word is auth, authorization or the like. Authors and authorities have other meanings.
func isAuthWord(w string) bool {
	w = strings.TrimPrefix(w, "o")
	return strings.HasPrefix(w, "auth") && !strings.HasPrefix(w, "author") ||
		strings.HasPrefix(w, "authorization")
}

// namesPublicKey reports whether a part of a name, such as sshkey, belongs to a public key: ssh_public_key does not
// have the part, ssh_key_name and sshKeyNames have it.
func namesPublicKey(words []string, part string) bool {
	return strings.HasSuffix(part, "key") && part != "passkey" &&
		slices.Contains(describingWords, words[len(words)-1])
}

// wordsOf divides a name at separators and where upper case begins, in lower case and without digits.
func wordsOf(name string) []string {
	var words []string
	start := true
	runes := []rune(name)
	for n, r := range runes {
		switch {
		case unicode.IsDigit(r):
			continue
		case !unicode.IsLetter(r):
			start = true
			continue
		case unicode.IsUpper(r) && n > 0 && (unicode.IsLower(runes[n-1]) ||
			n+1 < len(runes) && unicode.IsLower(runes[n+1])): // "adminPass", and "SSHKey" as SSH, Key
			start = true
		}
		if start {
			words, start = append(words, ""), false
		}
		words[len(words)-1] += string(unicode.ToLower(r))
	}
	return words
}
