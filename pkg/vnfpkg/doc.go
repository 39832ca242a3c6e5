// Package vnfpkg is the domain of VNF package management (ETSI GS NFV-SOL 005 clause 9, SOL 003 clause 10): package
// resources, the onboarding of their content, and access to what is in it.
//
// A package is made empty (CREATED). Upload streams the archive into the content store (UPLOADING) and answers once
// it is there; a job then reads and checks it (PROCESSING), and the package is ONBOARDED and ENABLED, or CREATED again
// with the reason of the failure kept on it, so that a corrected archive can be uploaded.
//
//	CREATED ──Upload──▶ UPLOADING ──archive stored──▶ PROCESSING ──valid──▶ ONBOARDED
//	   ▲                    │                             │
//	   └──── interrupted ───┴────────── refused ──────────┘
//
// Every arrow is one transaction that checks the state it starts from. Whoever is killed on the way is followed up: an
// upload holds a lease that its process renews, and when it ends any node returns the package to CREATED; the job of a
// package in PROCESSING is part of the transaction that began it, is given to another node when its own dies, and
// starts over from the stored archive.
//
// An archive is kept as long as a package row refers to it by its digest. The row refers to it before the archive gets
// its name and until after it has lost it, so no crash can leave a package whose content is missing.
//
// The VNFD is parsed once, while onboarding. Its model is stored under the digest and kept in memory, so that no other
// request parses YAML.
package vnfpkg
