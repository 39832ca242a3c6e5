// Package sol holds the wire types of ETSI GS NFV-SOL 003 v3.3.1 (VNF LCM API
// 2.0.0, grant API 1.4.0), the VNF package management types of SOL003/SOL005
// that the product serves, and ProblemDetails of SOL013.
//
// The types are written by hand: names are those of the standard, a Go field is
// the attribute with its first letter in upper case (vnfdId is VnfdID,
// callbackUri is CallbackURI, _links is Links). Conventions:
//
//   - an optional string is a plain string; empty means absent;
//   - an optional number or boolean is a pointer only where zero and absent
//     mean different things;
//   - lists and maps are omitted when empty;
//   - times are UTC on the wire (RFC 3339);
//   - unknown members of a request are ignored when decoding, as the standard
//     asks of a receiver.
//
// Attribute filters, attribute selectors, paging markers and the Version header
// of SOL013 live in the sub-packages filter, selector, paging and version.
package sol
