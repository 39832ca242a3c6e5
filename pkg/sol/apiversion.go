package sol

import "time"

// ApiVersionInformation is the body of the api_versions resources (SOL013 §9.1).
type ApiVersionInformation struct {
	URIPrefix   string       `json:"uriPrefix"`
	ApiVersions []ApiVersion `json:"apiVersions"`
}

// ApiVersion is one supported version of an API, e.g. 2.0.0.
type ApiVersion struct {
	Version        string    `json:"version"`
	IsDeprecated   bool      `json:"isDeprecated"`
	RetirementDate time.Time `json:"retirementDate,omitzero"`
}
