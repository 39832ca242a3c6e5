package k8scluster_test

// testKey was made for this test and opens nothing.
const testKey = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACApn3rfzKrxvPp7EPOmza806ajPUpAJAfwXFclyTMRXggAAAIjn9hGs5/YR
rAAAAAtzc2gtZWQyNTUxOQAAACApn3rfzKrxvPp7EPOmza806ajPUpAJAfwXFclyTMRXgg
AAAEA61btuD0tjpwRgBblBJRKuDIr0cFaOGt4gc0wM2NWjoymfet/MqvG8+nsQ86bNrzTp
qM9SkAkB/BcVyXJMxFeCAAAABHRlc3QB
-----END OPENSSH PRIVATE KEY-----
`
