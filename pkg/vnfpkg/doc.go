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
// Every arrow is one transaction that checks the state it starts from. A process can be killed at any point. An upload
// has a lease that its process renews; when the lease ends, any node returns the package to CREATED. The job of a
// package in PROCESSING is created in the transaction of that state. If its node dies, another node gets the job and
// starts again from the stored archive.
//
// A package can be deleted in each state unless it is ENABLED or IN_USE. An upload notices it when it renews its lease,
// the onboarding by reading the package now and then; both release the content that they have stored since.
//
// An archive is kept while a package row refers to its digest. The row refers to it from before the archive gets its
// name until after the archive is deleted, so no crash can leave a package without its content.
//
// The VNFD is parsed once, while onboarding. Its model is stored under the digest and kept in memory, so that no other
// request parses YAML.
package vnfpkg
