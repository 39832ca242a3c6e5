package lcm

// SSHKey is a key pair by which a mgmt driver logs in to the machines of one instance. The infra driver gives the
// public part to templates that take it (Templates.TakesKey).
type SSHKey struct {
	// Public is a line of authorized_keys, without its end. It consists of letters, digits, spaces and + - . / = @ _
	// only, so that templates can put it into any document.
	Public string `json:"public"`
	// Private is a PEM or OpenSSH private key without a passphrase.
	Private string `json:"private"`
}
