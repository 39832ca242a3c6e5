"""Asks Keystone for a token and whose it is: first_token.py URL PASSWORD. Fails when an answer takes longer than 25 seconds."""
import json
import sys
import urllib.request

URL, PASSWORD = sys.argv[1:]
request = {'auth': {
    'identity': {'methods': ['password'], 'password': {
        'user': {'name': 'admin', 'domain': {'id': 'default'}, 'password': PASSWORD}}},
    'scope': {'project': {'name': 'admin', 'domain': {'id': 'default'}}},
}}


def ask(**kwargs):
    return urllib.request.urlopen(urllib.request.Request(URL + '/auth/tokens', **kwargs), timeout=25)


token = ask(data=json.dumps(request).encode(), headers={'Content-Type': 'application/json'}).headers['X-Subject-Token']
ask(headers={'X-Auth-Token': token, 'X-Subject-Token': token}).read()
