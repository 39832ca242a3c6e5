package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TokenPrefix begins every static token, so that its form tells the mode, and scanners find it in files.
const TokenPrefix = "gybe_"

// Token is one static token as the file has it: without its secret.
type Token struct {
	// ID names the token; it is part of the token and not secret.
	ID string `json:"id"`
	// Hash is SHA-256 of the whole token, in hexadecimal. A token has 256 random bits, so the hash cannot be searched,
	// and a slow function with salt would only cost time at every request.
	Hash    string    `json:"-"`
	Subject string    `json:"subject"`
	Project string    `json:"project"`
	Role    lcm.Role  `json:"role"`
	Expires time.Time `json:"expires,omitzero"` // zero is never
	Created time.Time `json:"created"`
}

// word matches the fields of a token: they are divided by blanks.
var word = regexp.MustCompile(`^[!-~]{1,200}$`)

// tokenID matches identifiers of tokens.
var tokenID = regexp.MustCompile(`^[a-z2-9]{8}$`)

// maxProject bounds the name of a project in bytes.
const maxProject = 64

// NewToken makes a token. The secret is shown to the user once and not kept.
func NewToken(subject, project string, role lcm.Role, expires, now time.Time) (secret string, t Token, err error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var id [8]byte
	_, _ = rand.Read(id[:])
	for i := range id {
		id[i] = letters[id[i]%32]
	}
	secret = TokenPrefix + string(id[:]) + "_" + base64.RawURLEncoding.EncodeToString(raw[:])
	t = Token{
		ID: string(id[:]), Hash: hashOf(secret), Subject: subject, Project: project, Role: role,
		Created: now.UTC().Truncate(time.Second),
	}
	if !expires.IsZero() {
		t.Expires = expires.UTC().Truncate(time.Second)
	}
	return secret, t, t.validate()
}

func (t Token) validate() error {
	var bad []error
	if !tokenID.MatchString(t.ID) {
		bad = append(bad, fmt.Errorf("the id %.20q is not eight of a-z and 2-7", t.ID))
	}
	if sum, err := hex.DecodeString(t.Hash); err != nil || len(sum) != sha256.Size {
		bad = append(bad, errors.New("the hash is not sha256: and 64 hexadecimal digits"))
	}
	if !word.MatchString(t.Subject) {
		bad = append(bad, errors.New("the subject must have 1 to 200 printable characters without blanks"))
	}
	if err := CheckProject(t.Project); err != nil {
		bad = append(bad, err)
	}
	if !slices.Contains(lcm.Roles, t.Role) {
		bad = append(bad, fmt.Errorf("the role %.20q is not one of reader, operator, admin", string(t.Role)))
	}
	return errors.Join(bad...)
}

// CheckProject accepts the names that a project may have, whichever mode they come from.
func CheckProject(s string) error {
	if s == "" || len(s) > maxProject || !word.MatchString(s) || strings.Contains(s, "/") {
		return fmt.Errorf(
			"the project %.70q must have 1 to %d printable characters without blanks and '/'", s, maxProject,
		)
	}
	return nil
}

// never is how the file writes that a token does not expire.
const never = "never"

// line writes a token as a line of the file.
func (t Token) line() string {
	expires := never
	if !t.Expires.IsZero() {
		expires = t.Expires.Format(time.RFC3339)
	}
	return strings.Join([]string{
		t.ID, "sha256:" + t.Hash, string(t.Role), t.Project, expires, t.Created.Format(time.RFC3339), t.Subject,
	}, " ")
}

// parseToken reads a line of the file.
func parseToken(line string) (Token, error) {
	f := strings.Fields(line)
	if len(f) != 7 {
		return Token{}, fmt.Errorf("has %d fields; 7 are id, hash, role, project, expiry, creation, subject", len(f))
	}
	hash, ok := strings.CutPrefix(f[1], "sha256:")
	if !ok {
		return Token{}, errors.New("the hash is not sha256: and 64 hexadecimal digits")
	}
	t := Token{ID: f[0], Hash: strings.ToLower(hash), Role: lcm.Role(f[2]), Project: f[3], Subject: f[6]}
	var err error
	if f[4] != never {
		if t.Expires, err = time.Parse(time.RFC3339, f[4]); err != nil {
			return Token{}, fmt.Errorf("the expiry %.30q is neither never nor a time as in RFC 3339", f[4])
		}
	}
	if t.Created, err = time.Parse(time.RFC3339, f[5]); err != nil {
		return Token{}, fmt.Errorf("the creation %.30q is not a time as in RFC 3339", f[5])
	}
	return t, t.validate()
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// idOf returns the identifier inside a static token; ok says whether the text has the form of one.
func idOf(secret string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, TokenPrefix)
	if !ok || len(rest) < 9 || rest[8] != '_' || !tokenID.MatchString(rest[:8]) {
		return "", false
	}
	return rest[:8], true
}
