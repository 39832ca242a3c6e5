package kubernetes

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The account of Gybe in its clusters. The cluster's operator can inspect, audit and revoke a service account. The
// certificate of admin.conf cannot be revoked: it is valid until the CA is replaced.
const (
	ServiceAccount = "gybe"
	accountNS      = "kube-system"
	tokenSecret    = "gybe-token"
	bindingName    = "gybe-cluster-admin"
)

// EnsureAccount creates the service account, binds it to cluster-admin, and requests a token without expiry. It does
// not change existing objects.
func (c *Client) EnsureAccount(ctx context.Context) error {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: accountNS, Labels: map[string]string{"app.kubernetes.io/managed-by": "gybe"},
		}
	}
	secret := &corev1.Secret{ObjectMeta: meta(tokenSecret), Type: corev1.SecretTypeServiceAccountToken}
	secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: ServiceAccount}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta(bindingName),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: ServiceAccount, Namespace: accountNS}},
	}
	binding.Namespace = ""
	for _, o := range []struct {
		path string
		obj  runtime.Object
	}{
		{"/api/v1/namespaces/" + accountNS + "/serviceaccounts", &corev1.ServiceAccount{
			ObjectMeta: meta(ServiceAccount),
		}},
		{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding},
		{"/api/v1/namespaces/" + accountNS + "/secrets", secret},
	} {
		err := c.rest.Post().AbsPath(o.path).Body(o.obj).Do(ctx).Error()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return c.requestError("create the account "+ServiceAccount, err)
		}
	}
	return nil
}

// tokenEvery is the interval of polls for the token, tokenWait their total time.
const (
	tokenEvery = 100 * time.Millisecond
	tokenWait  = 30 * time.Second
)

// AccountToken returns the token of the account of EnsureAccount, and the cluster's CA. It waits until the cluster has
// created the token.
func (c *Client) AccountToken(ctx context.Context) (token string, ca []byte, err error) {
	deadline := time.Now().Add(tokenWait)
	for {
		var secret corev1.Secret
		if err := c.rest.Get().AbsPath("/api/v1/namespaces", accountNS, "secrets",
			tokenSecret).Do(ctx).Into(&secret); err != nil {
			return "", nil, c.requestError("read the token of the account "+ServiceAccount, err)
		}
		if t := secret.Data[corev1.ServiceAccountTokenKey]; len(t) > 0 {
			return string(t), secret.Data[corev1.ServiceAccountRootCAKey], nil
		}
		if time.Now().After(deadline) {
			return "", nil, lcm.Errorf(lcm.CodeUpstream,
				"cluster %s has not created a token for the account %s within %s", c.host, ServiceAccount,
				tokenWait).AsTransient()
		}
		timer := time.NewTimer(tokenEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}
