external_url 'http://x/'
