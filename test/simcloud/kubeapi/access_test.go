package kubeapi_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// bearer is how a client with only a token reaches s.
func (s *served) bearer(token string) *rest.Config {
	return &rest.Config{Host: s.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: s.CAPEM()}}
}

func TestATokenSecretLogsItsAccountInUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	_, err := s.CoreV1().ServiceAccounts("kube-system").Create(
		ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "gybe"}}, metav1.CreateOptions{},
	)
	require.NoError(t, err)
	secret, err := s.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gybe-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "gybe"},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, s.CAPEM(), secret.Data["ca.crt"])
	require.Equal(t, "kube-system", string(secret.Data["namespace"]))

	mine := client(t, s.bearer(string(secret.Data["token"])))
	_, err = mine.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `nodes is forbidden: User "system:serviceaccount:kube-system:gybe" cannot list resource "nodes" in API group "" at the cluster scope`)

	_, err = s.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "gybe"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "gybe", Namespace: "kube-system"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = mine.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	_, err = mine.CoreV1().Namespaces().Create(
		ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{},
	)
	require.NoError(t, err)

	require.NoError(t, s.CoreV1().Secrets("kube-system").Delete(ctx, "gybe-token", metav1.DeleteOptions{}))
	_, err = mine.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}

func TestARequestedTokenRunsOut(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	seconds := int64(600)
	tr, err := s.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), tr.Status.ExpirationTimestamp.Time, time.Minute)
	review, err := s.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: tr.Status.Token},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, review.Status.Authenticated)
	require.Equal(t, "system:serviceaccount:default:default", review.Status.User.Username)

	who, err := client(t, s.bearer(tr.Status.Token)).AuthorizationV1().SelfSubjectAccessReviews().Create(
		ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"},
			},
		}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.False(t, who.Status.Allowed)
}

func TestWhoIsNotKnownIsTurnedAway(t *testing.T) {
	t.Parallel()
	s, ctx, other := serve(t), t.Context(), newCluster(t)
	stranger, err := other.IssueClient("kubernetes-admin", "system:masters")
	require.NoError(t, err)
	foreign := rest.AnonymousClientConfig(s.admin)
	foreign.CertData, foreign.KeyData = stranger.Certificate, stranger.Key
	for name, cfg := range map[string]*rest.Config{
		"a wrong token": s.bearer("x.y.z"), "a certificate of another cluster": foreign,
		"a token cut short": s.bearer("abcdef.0123456789abcdef"),
	} {
		_, err := client(t, cfg).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		require.True(t, apierrors.IsUnauthorized(err), "%s: %v", name, err)
	}
	anon := client(t, rest.AnonymousClientConfig(s.admin))
	_, err = anon.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "no credentials: %v", err)
	_, err = anon.Discovery().ServerVersion()
	require.NoError(t, err)
	cm, err := anon.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, cm.Data["kubeconfig"], "certificate-authority-data: ")

	wrongCA := rest.CopyConfig(s.admin)
	wrongCA.CAData = other.CAPEM()
	_, err = client(t, wrongCA).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.ErrorContains(t, err, "certificate signed by unknown authority")
}

func TestAKubeletWritesItsOwnNodeOnly(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	for _, n := range []string{"mine", "yours"} {
		s.AddNode(kubeapi.NodeSpec{Name: n, IP: "10.0.0.1"})
	}
	cred, err := s.IssueClient("system:node:mine", "system:nodes")
	require.NoError(t, err)
	cfg := rest.AnonymousClientConfig(s.admin)
	cfg.CertData, cfg.KeyData = cred.Certificate, cred.Key
	cs := client(t, cfg)
	_, err = cs.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	label := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
	_, err = cs.CoreV1().Nodes().Patch(ctx, "mine", "application/merge-patch+json", label, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = cs.CoreV1().Nodes().Patch(ctx, "yours", "application/merge-patch+json", label, metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.True(t, apierrors.IsForbidden(cs.CoreV1().Nodes().Delete(ctx, "mine", metav1.DeleteOptions{})))
}

func TestBootstrapTokensAndCertificateKeysRunOut(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c, err := kubeapi.NewCluster(kubeapi.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(c.Close)

	token := c.CreateToken(time.Hour)
	require.Regexp(t, `^[a-z0-9]{6}\.[a-z0-9]{16}$`, token)
	require.True(t, c.ValidToken(token))
	require.False(t, c.ValidToken(token[:7]+strings.Repeat("0", 16)))
	require.True(t, c.AddToken("abcdef.0123456789abcdef", 0))
	require.False(t, c.AddToken("nonsense", 0))

	key := c.UploadCerts("")
	require.Len(t, key, 64)
	require.NoError(t, c.ValidCertificateKey(key))
	require.ErrorContains(t, c.ValidCertificateKey(strings.Repeat("0", 64)), "message authentication failed")
	require.ErrorContains(t, c.ValidCertificateKey("xyz"), "error decoding certificate key")

	now = now.Add(3 * time.Hour)
	require.False(t, c.ValidToken(token))
	require.True(t, c.ValidToken("abcdef.0123456789abcdef"))
	require.ErrorContains(t, c.ValidCertificateKey(key), `Secret "kubeadm-certs" was not found`)
	require.True(t, c.DeleteToken("abcdef"))
	require.False(t, c.ValidToken("abcdef.0123456789abcdef"))
	require.False(t, c.DeleteToken("abcdef"))
}

func TestTheDiscoveryHashIsThatOfTheCA(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	block, _ := pem.Decode(c.CAPEM())
	ca, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), c.CAHash())
}
