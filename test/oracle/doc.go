// Package oracle holds responses and notifications to the OpenAPI documents that ETSI publishes. The documents are not
// part of this repository: GYBE_ETSI_DIR names the folder that holds them, and without it shared/etsi beside the
// checkout is used. Where they are absent nothing is checked, and Require skips a test that exists for them alone.
//
// Documents have errors. The list of corrections names each of them with the reason; nothing else is changed.
package oracle
