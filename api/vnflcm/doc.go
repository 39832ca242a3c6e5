// Package vnflcm serves the VNF lifecycle management interface of SOL003, API versions 2.0.0 and 2.3.0, under
// /vnflcm/v2. It translates between HTTP and package lcm and decides nothing itself.
//
// Answers link only to tasks that are possible: an instance to those of its state that its VNFD allows, an operation to
// those of cancel, retry, rollback and fail that its state allows.
package vnflcm
