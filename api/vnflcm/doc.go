// Package vnflcm serves the VNF lifecycle management interface of SOL003, API version 2.0.0, under
// /vnflcm/v2. It translates between HTTP and package lcm and decides nothing itself.
//
// Answers name only tasks that are served: an instance links to instantiate or terminate, an operation to
// those of retry, rollback and fail that its state allows.
package vnflcm
