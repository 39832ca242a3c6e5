package lcm

// ParamPublicKey is the parameter by which the template of a package takes the public part of the instance's SSHKey. An infra driver gives it to
// every template that declares it, an empty text for an instance without a key; how it gets into the machines is the template's business.
const ParamPublicKey = "ssh_public_key"

// SSHKey is a key pair by which a mgmt driver logs in to the machines of one instance.
type SSHKey struct {
	// Public is a line of authorized_keys, without its end. It consists of letters, digits, spaces and + - . / = @ _ only, so that templates
	// can put it into any document.
	Public string `json:"public"`
	// Private is a PEM or OpenSSH private key without a passphrase.
	Private string `json:"private"`
}
