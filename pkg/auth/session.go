package auth

// TokenCredential makes the credential of a token that a user has entered. A JWT goes to the OpenID provider, any
// other token to the static tokens or Keystone. The error is CodeInvalid.
func TokenCredential(token string) (Credential, error) {
	if isJWT(token) {
		return tokenFrom(KindBearer, token)
	}
	return tokenFrom(KindToken, token)
}
